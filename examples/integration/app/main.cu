extern __device__ int twice(int x);

__global__ void once(int *p) { p[threadIdx.x] = twice(p[threadIdx.x]); }

int main() { return 0; }
