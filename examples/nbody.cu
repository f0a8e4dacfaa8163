// All-pairs gravity with shared-memory tiles of bodies, and a leapfrog step.

constexpr int kTile = 32;

__device__ __forceinline__ float3 pull(float4 self, float4 other, float3 acc,
                                       float softening)
{
    float dx = other.x - self.x;
    float dy = other.y - self.y;
    float dz = other.z - self.z;
    float d2 = dx * dx + dy * dy + dz * dz + softening;
    float inv = rsqrtf(d2);
    float s = other.w * inv * inv * inv;
    acc.x += dx * s;
    acc.y += dy * s;
    acc.z += dz * s;
    return acc;
}

extern "C" __global__ void nbody_step(const float4 *__restrict__ body,
                                      float4 *__restrict__ next,
                                      float4 *velocity, int n, float dt,
                                      float softening)
{
    __shared__ float4 tile[kTile];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 self = body[min(i, n - 1)];
    float3 acc = make_float3(0.0f, 0.0f, 0.0f);

    for (int start = 0; start < n; start += kTile) {
        int j = start + threadIdx.x;
        if (j < n)
            tile[threadIdx.x] = body[j];
        else
            tile[threadIdx.x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < kTile; k++)
            acc = pull(self, tile[k], acc, softening);
        __syncthreads();
    }

    if (i >= n)
        return;
    float4 v = velocity[i];
    v.x += acc.x * dt;
    v.y += acc.y * dt;
    v.z += acc.z * dt;
    velocity[i] = v;
    self.x += v.x * dt;
    self.y += v.y * dt;
    self.z += v.z * dt;
    // A box with reflecting walls at +-2.
    if (self.x > 2.0f || self.x < -2.0f) {
        velocity[i].x = -v.x;
        self.x = self.x > 0.0f ? 2.0f : -2.0f;
    }
    if (self.y > 2.0f || self.y < -2.0f) {
        velocity[i].y = -v.y;
        self.y = self.y > 0.0f ? 2.0f : -2.0f;
    }
    next[i] = self;
}
