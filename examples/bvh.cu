// A bounding-volume hierarchy over spheres in an implicit complete tree:
// built bottom-up by one block, then traversed by rays with an explicit stack,
// nearer child first.

constexpr int kStack = 24;
constexpr float kFar = 1e30f;

struct Box {
    float lo[3];
    float hi[3];
};

// Node i has children 2i + 1 and 2i + 2; the leaves come last.
extern "C" __global__ void bvh_build(const float4 *sphere, int leaves,
                                     Box *node)
{
    for (int i = threadIdx.x; i < leaves; i += blockDim.x) {
        float4 s = sphere[i];
        Box b = {{s.x - s.w, s.y - s.w, s.z - s.w},
                 {s.x + s.w, s.y + s.w, s.z + s.w}};
        node[leaves - 1 + i] = b;
    }
    for (int width = leaves / 2; width > 0; width /= 2) {
        __syncthreads();
        for (int i = threadIdx.x; i < width; i += blockDim.x) {
            const Box &left = node[2 * (width - 1 + i) + 1];
            const Box &right = node[2 * (width - 1 + i) + 2];
            Box b;
#pragma unroll
            for (int a = 0; a < 3; a++) {
                b.lo[a] = fminf(left.lo[a], right.lo[a]);
                b.hi[a] = fmaxf(left.hi[a], right.hi[a]);
            }
            node[width - 1 + i] = b;
        }
    }
}

// Distance at which the ray enters the box, kFar if it misses.
__device__ float enter(const Box &box, float3 origin, float3 inverse,
                       float limit)
{
    float t0 = (box.lo[0] - origin.x) * inverse.x;
    float t1 = (box.hi[0] - origin.x) * inverse.x;
    float near = fminf(t0, t1);
    float far = fmaxf(t0, t1);
    t0 = (box.lo[1] - origin.y) * inverse.y;
    t1 = (box.hi[1] - origin.y) * inverse.y;
    near = fmaxf(near, fminf(t0, t1));
    far = fminf(far, fmaxf(t0, t1));
    t0 = (box.lo[2] - origin.z) * inverse.z;
    t1 = (box.hi[2] - origin.z) * inverse.z;
    near = fmaxf(near, fminf(t0, t1));
    far = fminf(far, fmaxf(t0, t1));
    return near <= far && far >= 0.0f && near < limit ? near : kFar;
}

__device__ __noinline__ bool hit_sphere(float4 s, float3 o, float3 d,
                                        float &best)
{
    float3 oc = make_float3(o.x - s.x, o.y - s.y, o.z - s.z);
    float a = d.x * d.x + d.y * d.y + d.z * d.z;
    float b = oc.x * d.x + oc.y * d.y + oc.z * d.z;
    float c = oc.x * oc.x + oc.y * oc.y + oc.z * oc.z - s.w * s.w;
    float disc = b * b - a * c;
    if (disc < 0.0f)
        return false;
    float root = sqrtf(disc);
    float t = (-b - root) / a;
    if (t <= 0.0f) {
        t = (-b + root) / a;
        if (t <= 0.0f)
            return false;
    }
    if (t >= best)
        return false;
    best = t;
    return true;
}

extern "C" __global__ void bvh_trace(const float4 *sphere, int leaves,
                                     const Box *node, const float *ray,
                                     float *distance, int *object, int rays)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rays)
        return;

    float3 o = make_float3(ray[6 * i], ray[6 * i + 1], ray[6 * i + 2]);
    float3 d = make_float3(ray[6 * i + 3], ray[6 * i + 4], ray[6 * i + 5]);
    float3 inverse = make_float3(1.0f / d.x, 1.0f / d.y, 1.0f / d.z);
    float best = kFar;
    int nearest = -1;
    int stack[kStack];
    int sp = 0;

    if (enter(node[0], o, inverse, best) < kFar)
        stack[sp++] = 0;
    while (sp > 0) {
        int n = stack[--sp];
        if (n >= leaves - 1) {
            if (hit_sphere(sphere[n - (leaves - 1)], o, d, best))
                nearest = n - (leaves - 1);
            continue;
        }
        int left = 2 * n + 1;
        int right = 2 * n + 2;
        float tl = enter(node[left], o, inverse, best);
        float tr = enter(node[right], o, inverse, best);
        if (tl < kFar && tr < kFar) {
            if (tl <= tr) {
                stack[sp++] = right;
                stack[sp++] = left;
            } else {
                stack[sp++] = left;
                stack[sp++] = right;
            }
        } else if (tl < kFar) {
            stack[sp++] = left;
        } else if (tr < kFar) {
            stack[sp++] = right;
        }
    }
    distance[i] = nearest >= 0 ? best : -1.0f;
    object[i] = nearest;
}
