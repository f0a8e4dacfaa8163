// A byte-code interpreter: one virtual machine per thread, a stack in local
// memory, a switch in a loop. All threads run the same program on different
// inputs, so they diverge where the program branches on its data.

enum Op : unsigned char {
    kHalt = 0,
    kPush,      // imm8: push a sign-extended byte
    kLoad,      // imm8: push local variable
    kStore,     // imm8: pop into local variable
    kAdd,
    kSub,
    kMul,
    kDiv,       // fails on zero
    kAnd,
    kXor,
    kShl,
    kLess,
    kEqual,
    kNot,
    kJump,      // rel8, counted from the next instruction
    kJumpZero,  // rel8
    kDup,
    kSwap,
    kDrop,
    kInput,     // push the thread's input
    kOutput     // pop and mix into the checksum
};

enum Status { kRunning, kDone, kStackFault, kDivideFault, kBadOp, kTooLong };

constexpr int kStack = 16;
constexpr int kLocals = 8;

__device__ __noinline__ int divide(int a, int b, Status &status)
{
    if (b == 0) {
        status = kDivideFault;
        return 0;
    }
    if (b == -1)
        return (int)(0u - (unsigned)a);
    return a / b;
}

extern "C" __global__ void bytecode(const unsigned char *code, int code_size,
                                    const int *inputs, int *results,
                                    int *statuses, int n, int max_steps)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n)
        return;

    int stack[kStack];
    int locals[kLocals];
    int sp = 0;
    int pc = 0;
    int steps = 0;
    unsigned checksum = 2166136261u;
    Status status = kRunning;

    for (int i = 0; i < kLocals; i++)
        locals[i] = 0;

    while (status == kRunning) {
        if (pc < 0 || pc >= code_size) {
            status = kBadOp;
            break;
        }
        if (++steps > max_steps) {
            status = kTooLong;
            break;
        }
        unsigned op = code[pc++];
        int imm = 0;
        if ((op >= kPush && op <= kStore) || op == kJump || op == kJumpZero) {
            if (pc >= code_size) {
                status = kBadOp;
                break;
            }
            imm = (signed char)code[pc++];
        }
        // Room for one push, and two operands for the binary operators.
        if (sp >= kStack || (op >= kAdd && op <= kEqual && sp < 2)) {
            status = kStackFault;
            break;
        }
        switch (op) {
        case kHalt:
            status = kDone;
            break;
        case kPush:
            stack[sp++] = imm;
            break;
        case kLoad:
            stack[sp++] = locals[imm & (kLocals - 1)];
            break;
        case kStore:
            if (sp < 1)
                status = kStackFault;
            else
                locals[imm & (kLocals - 1)] = stack[--sp];
            break;
        case kAdd:
            sp--;
            stack[sp - 1] = (int)((unsigned)stack[sp - 1] + stack[sp]);
            break;
        case kSub:
            sp--;
            stack[sp - 1] = (int)((unsigned)stack[sp - 1] - stack[sp]);
            break;
        case kMul:
            sp--;
            stack[sp - 1] = (int)((unsigned)stack[sp - 1] * stack[sp]);
            break;
        case kDiv:
            sp--;
            stack[sp - 1] = divide(stack[sp - 1], stack[sp], status);
            break;
        case kAnd:
            sp--;
            stack[sp - 1] &= stack[sp];
            break;
        case kXor:
            sp--;
            stack[sp - 1] ^= stack[sp];
            break;
        case kShl:
            sp--;
            stack[sp - 1] = (int)((unsigned)stack[sp - 1] << (stack[sp] & 31));
            break;
        case kLess:
            sp--;
            stack[sp - 1] = stack[sp - 1] < stack[sp];
            break;
        case kEqual:
            sp--;
            stack[sp - 1] = stack[sp - 1] == stack[sp];
            break;
        case kNot:
            if (sp < 1)
                status = kStackFault;
            else
                stack[sp - 1] = stack[sp - 1] == 0;
            break;
        case kJump:
            pc += imm;
            break;
        case kJumpZero:
            if (sp < 1)
                status = kStackFault;
            else if (stack[--sp] == 0)
                pc += imm;
            break;
        case kDup:
            if (sp < 1) {
                status = kStackFault;
                break;
            }
            stack[sp] = stack[sp - 1];
            sp++;
            break;
        case kSwap: {
            if (sp < 2) {
                status = kStackFault;
                break;
            }
            int t = stack[sp - 1];
            stack[sp - 1] = stack[sp - 2];
            stack[sp - 2] = t;
            break;
        }
        case kDrop:
            if (sp < 1)
                status = kStackFault;
            else
                sp--;
            break;
        case kInput:
            stack[sp++] = inputs[tid];
            break;
        case kOutput:
            if (sp < 1)
                status = kStackFault;
            else
                checksum = (checksum ^ (unsigned)stack[--sp]) * 16777619u;
            break;
        default:
            status = kBadOp;
            break;
        }
    }
    results[tid] = (int)checksum;
    statuses[tid] = status;
}
