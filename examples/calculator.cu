// A recursive-descent evaluator of integer expressions, one per thread:
// mutually recursive functions, error codes instead of exceptions.

struct Parser {
    const char *at;
    const char *end;
    int depth;
    int error;
};

enum { kNone, kSyntax, kDivision, kDepth, kTrailing };

__device__ int expression(Parser &p);

__device__ __forceinline__ char peek(Parser &p)
{
    while (p.at < p.end && *p.at == ' ')
        p.at++;
    return p.at < p.end ? *p.at : 0;
}

__device__ __noinline__ int factor(Parser &p)
{
    if (++p.depth > 12) {
        p.error = kDepth;
        return 0;
    }
    int v = 0;
    char c = peek(p);
    if (c >= '0' && c <= '9') {
        do {
            v = v * 10 + (*p.at++ - '0');
        } while (p.at < p.end && *p.at >= '0' && *p.at <= '9');
    } else if (c == '(') {
        p.at++;
        v = expression(p);
        if (!p.error) {
            if (peek(p) == ')')
                p.at++;
            else
                p.error = kSyntax;
        }
    } else if (c == '-') {
        p.at++;
        v = -factor(p);
    } else if (c == '~') {
        p.at++;
        v = ~factor(p);
    } else {
        p.error = kSyntax;
    }
    p.depth--;
    return v;
}

__device__ __noinline__ int term(Parser &p)
{
    int v = factor(p);
    while (!p.error) {
        char c = peek(p);
        if (c != '*' && c != '/' && c != '%')
            break;
        p.at++;
        int w = factor(p);
        if (p.error)
            break;
        if (c == '*') {
            v *= w;
        } else if (w == 0) {
            p.error = kDivision;
        } else if (c == '/') {
            v /= w;
        } else {
            v %= w;
        }
    }
    return v;
}

__device__ __noinline__ int expression(Parser &p)
{
    int v = term(p);
    while (!p.error) {
        char c = peek(p);
        if (c == '+') {
            p.at++;
            v += term(p);
        } else if (c == '-') {
            p.at++;
            v -= term(p);
        } else {
            break;
        }
    }
    return v;
}

extern "C" __global__ void calculator(const char *text, int stride, int *value,
                                      int *error, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    Parser p = {text + t * stride, text + (t + 1) * stride, 0, kNone};
    int v = expression(p);
    if (!p.error && peek(p) != 0)
        p.error = kTrailing;
    value[t] = p.error ? (int)(p.at - (text + t * stride)) : v;
    error[t] = p.error;
}
