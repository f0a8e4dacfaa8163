// A lexer for a small expression language as a hand-coded state machine, one
// line of text per thread, feeding a bracket matcher. Counts tokens by kind
// and reports the first error of each line.

enum State {
    kStart,
    kName,
    kZero,      // after a leading 0: may become hexadecimal
    kInteger,
    kHex,
    kFraction,
    kString,
    kEscape,
    kSlash,     // division or a comment
    kComment,
    kStar,      // in a comment, after '*'
    kError
};

enum Token { kNames, kNumbers, kStrings, kOperators, kBrackets, kTokens };

__device__ __forceinline__ bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

__device__ __forceinline__ bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

__device__ __forceinline__ bool is_hex(int c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

extern "C" __global__ void lexer(const char *text, int line_length, int lines,
                                 int *counts, int *errors)
{
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines)
        return;

    const char *s = text + line * line_length;
    int tokens[kTokens] = {};
    State state = kStart;
    unsigned open = 1;  // brackets still open: a bit stack under a sentinel
    int error_at = -1;
    int i = 0;

    while (i <= line_length && state != kError) {
        int c = i < line_length ? s[i] : 0;
        switch (state) {
        case kStart:
            if (is_letter(c)) {
                state = kName;
            } else if (c == '0') {
                state = kZero;
            } else if (is_digit(c)) {
                state = kInteger;
            } else {
                switch (c) {
                case 0:
                case ' ':
                case '\t':
                    break;
                case '"':
                    state = kString;
                    break;
                case '/':
                    state = kSlash;
                    break;
                case '(':
                case '[':
                    if (open >> 30) {
                        state = kError;
                        break;
                    }
                    open = open << 1 | (c == '[');
                    tokens[kBrackets]++;
                    break;
                case ')':
                case ']':
                    if (open == 1 || (open & 1) != (c == ']')) {
                        state = kError;
                        break;
                    }
                    open >>= 1;
                    tokens[kBrackets]++;
                    break;
                case '+':
                case '-':
                case '*':
                case '%':
                case '<':
                case '>':
                case '=':
                case '!':
                case '&':
                case '|':
                case ',':
                case ';':
                    tokens[kOperators]++;
                    break;
                default:
                    state = kError;
                    break;
                }
            }
            i++;
            break;
        case kName:
            if (is_letter(c) || is_digit(c)) {
                i++;
            } else {
                tokens[kNames]++;
                state = kStart;
            }
            break;
        case kZero:
            if (c == 'x' || c == 'X') {
                state = kHex;
                i++;
                break;
            }
            // fall through
        case kInteger:
            if (is_digit(c)) {
                state = kInteger;
                i++;
            } else if (c == '.') {
                state = kFraction;
                i++;
            } else {
                tokens[kNumbers]++;
                state = is_letter(c) ? kError : kStart;
            }
            break;
        case kHex:
            if (is_hex(c)) {
                i++;
            } else {
                tokens[kNumbers]++;
                state = is_letter(c) ? kError : kStart;
            }
            break;
        case kFraction:
            if (is_digit(c)) {
                i++;
            } else {
                tokens[kNumbers]++;
                state = c == '.' ? kError : kStart;
            }
            break;
        case kString:
            if (c == '"') {
                tokens[kStrings]++;
                state = kStart;
            } else if (c == '\\') {
                state = kEscape;
            } else if (c == 0) {
                state = kError;
            }
            i++;
            break;
        case kEscape:
            state = c == 'n' || c == 't' || c == '"' || c == '\\' ? kString
                                                                  : kError;
            i++;
            break;
        case kSlash:
            if (c == '*') {
                state = kComment;
                i++;
            } else {
                tokens[kOperators]++;
                state = kStart;
            }
            break;
        case kComment:
            if (c == '*')
                state = kStar;
            else if (c == 0)
                state = kError;
            i++;
            break;
        case kStar:
            if (c == '/')
                state = kStart;
            else if (c == 0)
                state = kError;
            else if (c != '*')
                state = kComment;
            i++;
            break;
        default:
            state = kError;
            break;
        }
        if (state == kError)
            error_at = i;
    }
    if (error_at < 0 && open != 1)
        error_at = line_length;  // unclosed bracket

#pragma unroll
    for (int t = 0; t < kTokens; t++)
        counts[line * kTokens + t] = tokens[t];
    errors[line] = error_at;
}
