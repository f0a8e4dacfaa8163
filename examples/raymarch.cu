// Sphere tracing of a signed-distance scene with soft shadows: nested loops
// with early exits, a material switch, and short-circuit tests.

struct Hit {
    float distance;
    int material;
};

__device__ __forceinline__ float3 operator+(float3 a, float3 b)
{
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}

__device__ __forceinline__ float3 operator*(float s, float3 a)
{
    return make_float3(s * a.x, s * a.y, s * a.z);
}

__device__ __forceinline__ float dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ Hit scene(float3 p)
{
    Hit hit = {p.y + 1.0f, 0};  // the floor

    float3 q = make_float3(p.x + 0.7f, p.y, p.z);
    float sphere = sqrtf(dot(q, q)) - 0.8f;
    if (sphere < hit.distance) {
        hit.distance = sphere;
        hit.material = 1;
    }

    float bx = fabsf(p.x - 0.9f) - 0.5f;
    float by = fabsf(p.y + 0.4f) - 0.5f;
    float bz = fabsf(p.z + 0.3f) - 0.5f;
    float box;
    if (bx <= 0.0f && by <= 0.0f && bz <= 0.0f) {
        box = fmaxf(bx, fmaxf(by, bz));
    } else {
        float ox = fmaxf(bx, 0.0f);
        float oy = fmaxf(by, 0.0f);
        float oz = fmaxf(bz, 0.0f);
        box = sqrtf(ox * ox + oy * oy + oz * oz);
    }
    if (box < hit.distance) {
        hit.distance = box;
        hit.material = 2;
    }
    return hit;
}

__device__ float shadow(float3 from, float3 light)
{
    float lit = 1.0f;
    float t = 0.05f;
    for (int i = 0; i < 12; i++) {
        float d = scene(from + t * light).distance;
        if (d < 0.001f)
            return 0.0f;
        lit = fminf(lit, 8.0f * d / t);
        t += d;
        if (t > 4.0f)
            break;
    }
    return lit;
}

extern "C" __global__ void raymarch(float *image, int width, int height,
                                    int max_steps)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float3 eye = make_float3(0.0f, 0.3f, -3.0f);
    float3 d = make_float3((2.0f * x - width) / height,
                           (height - 2.0f * y) / height, 1.5f);
    d = rsqrtf(dot(d, d)) * d;
    const float3 light = make_float3(0.48f, 0.8f, -0.36f);

    float t = 0.0f;
    Hit hit = {0.0f, -1};
    int step = 0;
    for (; step < max_steps; step++) {
        hit = scene(eye + t * d);
        if (hit.distance < 0.001f * t)
            break;
        t += hit.distance;
        if (t > 12.0f) {
            hit.material = -1;
            break;
        }
    }
    if (step == max_steps)
        hit.material = -1;

    float v;
    if (hit.material < 0) {
        v = 0.5f + 0.4f * d.y;  // sky
    } else {
        float3 p = eye + t * d;
        const float e = 0.002f;
        float here = hit.distance;
        float3 n = make_float3(
            scene(make_float3(p.x + e, p.y, p.z)).distance - here,
            scene(make_float3(p.x, p.y + e, p.z)).distance - here,
            scene(make_float3(p.x, p.y, p.z + e)).distance - here);
        float n2 = dot(n, n);
        n = (n2 > 0.0f ? rsqrtf(n2) : 0.0f) * n;
        float diffuse = fmaxf(dot(n, light), 0.0f);
        if (diffuse > 0.0f)
            diffuse *= shadow(p, light);
        switch (hit.material) {
        case 0: {
            bool even = (((int)floorf(p.x) + (int)floorf(p.z)) & 1) == 0;
            v = (even ? 0.3f : 0.9f) * (0.2f + 0.8f * diffuse);
            break;
        }
        case 1: v = 0.1f + 0.9f * diffuse * diffuse; break;
        default: v = 0.05f + 0.7f * diffuse; break;
        }
    }
    image[y * width + x] = v;
}
