__device__ int twice(int x) { return x * 2; }

__global__ void arms(int *p, int n)
{
    if (n > 3) {
        p[0] = threadIdx.x;
        p[1] = n;
        p[2] = twice(n);
    } else {
        p[3] = n;
        p[1] = n;
        p[2] = twice(n);
    }
}
