// A state machine that all threads of a block drive together: every block has a
// tape of drawing commands, which each of its threads applies to a pixel of its
// own. What the next state is, is a constant in every arm; threads differ only
// in what they do with the bytes.

enum State {
    kCommand,   // a new command begins
    kCount,     // its repeat count follows
    kFill,      // value bytes, as many as counted
    kMask,      // value bytes for the pixels that a bit mask names
    kBits,      // ... of which this is the mask
    kEscape,    // a byte that stands for itself
    kBlend,     // one byte, mixed with what is there
    kDone
};

extern "C" __global__ void tape(const unsigned char *__restrict__ code,
                                int tape_length, unsigned *pixels,
                                int *states)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *bytes = code + blockIdx.x * tape_length;
    unsigned colour = 0;
    unsigned mask = 0;
    int count = 0;
    int at = 0;
    State state = kCommand;

    while (state != kDone && at < tape_length) {
        unsigned byte = bytes[at++];
        switch (state) {
        case kCommand:
            if (byte < 64) {
                count = byte & 7;
                state = count ? kFill : kCount;
            } else if (byte < 128) {
                count = 1 + (byte & 3);
                state = kBits;
            } else if (byte == 255) {
                state = kDone;
            } else {
                colour += byte & 63;
                state = byte < 160 ? kBlend : kCommand;
            }
            break;
        case kCount:
            count = byte + 1;
            state = kFill;
            break;
        case kFill:
            if (byte == 27) {
                state = kEscape;
                break;
            }
            colour = colour * 5 + (byte ^ threadIdx.x);
            state = --count > 0 ? kFill : kCommand;
            break;
        case kBits:
            mask = byte;
            state = kMask;
            break;
        case kMask:
            if (mask >> (threadIdx.x & 7) & 1)
                colour = (colour << 3 | colour >> 29) + byte;
            state = --count > 0 ? kMask : kCommand;
            break;
        case kEscape:
            colour ^= byte << (threadIdx.x & 15);
            state = kFill;
            break;
        case kBlend:
            colour = (colour >> 1) + byte * 3;
            state = kCommand;
            break;
        default:
            break;
        }
    }
    pixels[pixel] = colour;
    states[pixel] = state;
}
