/* Cubins made by hand: one kernel "k" of the instructions that a test lists. */
#ifndef PTXOPT_TESTS_CUBIN_MADE_H
#define PTXOPT_TESTS_CUBIN_MADE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { MADE_ALWAYS = 7, MADE_NEVER = 15, MADE_SM = 80, MADE_INSTRS = 256 };

/* An operation without operands, as bits 0 to 11, its guard, stall count and, for a branch, distance from itself in instructions.
 * Of a convergence barrier its number in place of the guard and, where one is moved, a register in place of the distance. */
typedef struct Made {
    uint16_t code;
    uint8_t guard, stall;
    int16_t to;
    uint8_t sets, waits; /* number of a scoreboard, one more; set of them */
    uint8_t operand;     /* of a branch: the predicate besides its guard; 0: PT */
} Made;

#define MADE(...) ((Made){__VA_ARGS__, 0, 0, 0})
#define ALU(stall) MADE(0x210, MADE_ALWAYS, stall, 0)
#define FFMA(stall) MADE(0x223, MADE_ALWAYS, stall, 0)
#define LOAD(stall) MADE(0x981, MADE_ALWAYS, stall, 0)
#define LOAD_TO(board) ((Made){0x981, MADE_ALWAYS, 4, 0, (board) + 1, 0, 0})
#define FFMA_AFTER(board) ((Made){0x223, MADE_ALWAYS, 4, 0, 0, 1 << (board), 0})
#define STORE(stall) MADE(0x986, MADE_ALWAYS, stall, 0)
#define SHUFFLE(stall) MADE(0x389, MADE_ALWAYS, stall, 0)
#define SPILL(stall) MADE(0x387, MADE_ALWAYS, stall, 0)
#define REFILL(stall) MADE(0x983, MADE_ALWAYS, stall, 0)
#define RESIZE(stall) MADE(0x9c8, MADE_ALWAYS, stall, 0)
#define BRANCH_IF(to) MADE(0x947, 0, 1, to)
#define BRANCH_ON(guard, operand, to) ((Made){0x947, guard, 1, to, 0, 0, operand})
#define BRANCH_UNIFORM(operand, to) ((Made){0x547, MADE_ALWAYS, 1, to, 0, 0, operand})
#define BRANCH(to) MADE(0x947, MADE_ALWAYS, 1, to)
#define CALL_IF(to) MADE(0x944, 0, 1, to)
#define CALL(to) MADE(0x944, MADE_ALWAYS, 1, to)
#define BSSY(barrier, to) MADE(0x945, barrier, 1, to)
#define BSYNC(barrier) MADE(0x941, barrier, 1, 0)
#define SAVE(barrier, reg) MADE(0x355, barrier, 1, reg)
#define RESTORE(barrier, reg) MADE(0x356, barrier, 1, reg)
#define RETURN MADE(0x950, MADE_ALWAYS, 1, 0)
#define YIELD MADE(0x946, MADE_ALWAYS, 1, 0)
#define LEAVE MADE(0x94d, MADE_ALWAYS, 1, 0)

typedef struct MadeKernel {
    const Made *code;
    size_t count;
    unsigned registers, shared, barriers, threads;
    bool for_linker; /* not linked */
    bool dynamic;    /* shared memory that only a launch knows the size of */
    size_t inner;    /* instruction at which a function inside the section begins; 0: none */
    const char *inner_name;
} MadeKernel;

typedef struct MadeFile {
    uint8_t *bytes;
    size_t size;
} MadeFile;

static inline size_t made_add(MadeFile *file, const void *bytes, size_t size)
{
    size_t at = file->size;
    file->bytes = mem_realloc(file->bytes, at + size + 8);
    if (size)
        memcpy(file->bytes + at, bytes, size);
    file->size = at + size;
    return at;
}

static inline void made_instr(MadeFile *file, const Made *made)
{
    uint64_t low = made->code | (uint64_t)made->guard << 12;
    uint64_t high = (uint64_t)made->stall << 41 | (uint64_t)(made->sets ? made->sets - 1 : 7) << 46 | (uint64_t)7 << 49 |
                    (uint64_t)made->waits << 52;
    if (made->code == 0x947 || made->code == 0x944 || made->code == 0x547) {
        uint64_t operand = made->operand ? made->operand : MADE_ALWAYS;
        low |= (uint64_t)(uint32_t)((made->to - 1) * 16) << 32 | (made->code == 0x547 ? operand << 24 : 0);
        high |= (made->code == 0x547 ? MADE_ALWAYS : operand) << 23 | (made->to <= 0 ? 0x3ffff : 0);
    }
    if (made->code == 0x945 || made->code == 0x941)
        low = made->code | (uint64_t)MADE_ALWAYS << 12 | (uint64_t)made->guard << 16 |
              (uint64_t)(uint32_t)(made->to ? (made->to - 1) * 16 : 0) << 32;
    if (made->code == 0x355 || made->code == 0x356)
        low = made->code | (uint64_t)MADE_ALWAYS << 12 | (uint64_t)made->guard << 24 |
              (uint64_t)made->to << (made->code == 0x355 ? 16 : 32);
    made_add(file, &low, sizeof low);
    made_add(file, &high, sizeof high);
}

/* The attributes of the kernel; every STL is noted as a spill. */
static inline void made_info(MadeFile *file, const MadeKernel *k)
{
    uint32_t version[] = {0x3704 | 4u << 16, 130};
    uint32_t barriers = 0x4c03 | k->barriers << 16;
    uint32_t threads[] = {0x1004 | 12u << 16, k->threads, 1, 1};
    made_add(file, version, sizeof version);
    made_add(file, &barriers, sizeof barriers);
    if (k->threads)
        made_add(file, threads, sizeof threads);
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t note[] = {0x5504 | 8u << 16, 1, i * 16};
        if ((k->code[i].code & 0x1ff) == 0x187)
            made_add(file, note, sizeof note);
    }
}

static inline MadeFile made_cubin(const MadeKernel *k)
{
    static const char names[] = "\0.text.k\0.nv.info\0.nv.info.k\0.nv.shared.k\0.symtab\0.strtab";
    enum { TEXT = 1, INFO = 9, KERNEL_INFO = 18, SHARED = 29, SYMTAB = 42, STRTAB = 50 };
    char strings[128] = "\0k";
    MadeFile file = {0};
    Elf64_Ehdr header = {
        .e_type = ET_EXEC, .e_machine = 190, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 7, .e_shstrndx = 6};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_OSABI] = 0x41;
    header.e_ident[EI_ABIVERSION] = 8;
    header.e_flags = MADE_SM << 8;
    Elf64_Shdr section[7] = {{0}};
    made_add(&file, &header, sizeof header);
    size_t begin = file.size;
    for (size_t i = 0; i < k->count; i++)
        made_instr(&file, &k->code[i]);
    section[1] = (Elf64_Shdr){.sh_name = TEXT, .sh_type = SHT_PROGBITS, .sh_offset = begin, .sh_size = file.size - begin};
    begin = file.size;
    uint32_t registers[] = {0x2f04 | 8u << 16, 1, k->registers};
    made_add(&file, registers, sizeof registers);
    section[2] = (Elf64_Shdr){.sh_name = INFO, .sh_type = SHT_LOPROC, .sh_offset = begin, .sh_size = file.size - begin};
    begin = file.size;
    made_info(&file, k);
    section[3] = (Elf64_Shdr){
        .sh_name = KERNEL_INFO, .sh_type = SHT_LOPROC, .sh_offset = begin, .sh_size = file.size - begin, .sh_info = 1};
    section[4] = (Elf64_Shdr){.sh_name = SHARED,
                              .sh_type = k->for_linker ? SHT_LOPROC + 10 : SHT_NOBITS,
                              .sh_size = k->shared,
                              .sh_info = k->shared || k->dynamic};
    size_t length = k->inner ? strlen(k->inner_name) : 0;
    if (length)
        memcpy(strings + 3, k->inner_name, length);
    Elf64_Sym symbol[3] = {
        {0},
        {.st_name = 1, .st_info = STT_FUNC, .st_other = 0x10, .st_shndx = 1, .st_size = k->count * 16},
        {.st_name = 3,
         .st_info = STT_FUNC,
         .st_shndx = 1,
         .st_value = k->inner * 16,
         .st_size = (k->count - k->inner) * 16},
    };
    begin = made_add(&file, symbol, (k->inner ? 3 : 2) * sizeof *symbol);
    section[5] = (Elf64_Shdr){
        .sh_name = SYMTAB, .sh_type = SHT_SYMTAB, .sh_offset = begin, .sh_size = file.size - begin, .sh_link = 6};
    begin = made_add(&file, names, sizeof names);
    for (int i = 1; i <= 2; i++)
        symbol[i].st_name += (Elf64_Word)sizeof names;
    memcpy(file.bytes + section[5].sh_offset, symbol, (k->inner ? 3 : 2) * sizeof *symbol);
    made_add(&file, strings, sizeof strings);
    section[6] = (Elf64_Shdr){.sh_name = STRTAB, .sh_type = SHT_STRTAB, .sh_offset = begin, .sh_size = file.size - begin};
    header.e_shoff = made_add(&file, section, sizeof section);
    memcpy(file.bytes, &header, sizeof header);
    return file;
}

#endif
