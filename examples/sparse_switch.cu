// Packet classification: sparse dispatch on EtherType, IP protocol and port,
// as firewalls do it, with ranges and lists of equal actions.

struct Packet {
    unsigned short ether_type;
    unsigned char protocol;
    unsigned char flags;
    unsigned source;
    unsigned destination;
    unsigned short source_port;
    unsigned short port;
};

enum Action { kDrop, kAccept, kReject, kLog, kLimit, kInspect, kActions };

__device__ Action by_port(unsigned port, unsigned flags)
{
    switch (port) {
    case 22: return flags & 1 ? kLimit : kInspect;
    case 25: return kReject;
    case 53: return kAccept;
    case 80:
    case 443:
    case 8080:
    case 8443: return kInspect;
    case 110:
    case 143:
    case 993:
    case 995: return kAccept;
    case 123: return kLimit;
    case 137:
    case 138:
    case 139:
    case 445: return kDrop;
    case 3306:
    case 5432:
    case 6379:
    case 11211: return kReject;
    case 3389: return kLog;
    case 5060:
    case 5061: return kInspect;
    case 25565: return kAccept;
    default: break;
    }
    if (port >= 6000 && port <= 6063)
        return kDrop;
    if (port >= 33434 && port < 33534)
        return kLimit;
    return port < 1024 ? kReject : port >= 49152 ? kAccept : kLog;
}

__device__ __forceinline__ bool is_private(unsigned address)
{
    return address >> 24 == 10 || address >> 20 == 0xac1 ||
           address >> 16 == 0xc0a8 || address >> 24 == 127;
}

extern "C" __global__ void classify(const Packet *packet, int n,
                                    unsigned char *action, unsigned *counts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Packet p = packet[i];
    Action a;

    switch (p.ether_type) {
    case 0x0800:
    case 0x86dd:
        if (is_private(p.source) && !is_private(p.destination)) {
            a = kAccept;
            break;
        }
        switch (p.protocol) {
        case 1:
        case 58: a = p.flags & 2 ? kLimit : kAccept; break;
        case 2: a = kDrop; break;
        case 6:
            a = by_port(p.port, p.flags);
            if (a == kLog && p.source_port < 1024)
                a = kDrop;
            break;
        case 17: a = p.port == 53 || p.port == 123 ? kLimit : kLog; break;
        case 47:
        case 50:
        case 51: a = kInspect; break;
        case 89: a = kReject; break;
        case 132: a = kLog; break;
        default: a = kDrop; break;
        }
        break;
    case 0x0806: a = p.flags & 4 ? kLog : kAccept; break;
    case 0x8100:
    case 0x88a8:
    case 0x9100: a = kInspect; break;
    case 0x8847:
    case 0x8848: a = kReject; break;
    case 0x8863:
    case 0x8864: a = kLimit; break;
    case 0x88cc: a = kAccept; break;
    default: a = kDrop; break;
    }
    action[i] = (unsigned char)a;
    atomicAdd(&counts[a], 1u);
}

// A command shell's dispatch on a four-character code.
__device__ constexpr unsigned code4(char a, char b, char c, char d)
{
    return (unsigned)(unsigned char)a | (unsigned)(unsigned char)b << 8 |
           (unsigned)(unsigned char)c << 16 | (unsigned)(unsigned char)d << 24;
}

extern "C" __global__ void commands(const unsigned *code, const int *operand,
                                    int n, int *accumulator)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int acc = t;

    for (int i = 0; i < n; i++) {
        int x = operand[i];
        switch (code[(i + t) % n]) {
        case code4('a', 'd', 'd', ' '): acc += x; break;
        case code4('s', 'u', 'b', ' '): acc -= x; break;
        case code4('r', 's', 'u', 'b'): acc = x - acc; break;
        case code4('m', 'u', 'l', ' '): acc *= x; break;
        case code4('n', 'e', 'g', ' '): acc = -acc; break;
        case code4('a', 'b', 's', ' '): acc = acc < 0 ? -acc : acc; break;
        case code4('m', 'i', 'n', ' '): acc = acc < x ? acc : x; break;
        case code4('m', 'a', 'x', ' '): acc = acc > x ? acc : x; break;
        case code4('a', 'n', 'd', ' '): acc &= x; break;
        case code4('o', 'r', ' ', ' '): acc |= x; break;
        case code4('x', 'o', 'r', ' '): acc ^= x; break;
        case code4('s', 'h', 'l', ' '): acc <<= x & 31; break;
        case code4('s', 'h', 'r', ' '): acc >>= x & 31; break;
        case code4('n', 'o', 'p', ' '): break;
        case code4('h', 'a', 'l', 't'): i = n; break;
        default: acc ^= 0x5a5a; break;
        }
    }
    accumulator[t] = acc;
}
