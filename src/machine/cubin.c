#include "machine/cubin.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MACHINE_CUDA = 190,
    ABI_VERSION_13 = 8,        /* of the ELF that ptxas writes since CUDA 13.0; 7 before */
    OTHER_ENTRY = 0x10,        /* STO_CUDA_ENTRY in st_other */
    RESERVED_SHARED = 1024,    /* counted by the section of every kernel since sm_90 */

    FORMAT_BYTES = 0x04,       /* attribute with a size and a payload; the others take 4 bytes in all */
    ATTR_FRAME_SIZE = 0x11,
    ATTR_REGISTERS = 0x2f,
    ATTR_BRANCH_TARGETS = 0x34,
    ATTR_CUDA_VERSION = 0x37,  /* 129: 12.9 */
    ATTR_BARRIERS = 0x4c,
    ATTR_ANNOTATIONS = 0x55,
    ANNOTATION_SPILL = 1,

    BARRIERS_SHIFT = 20,       /* in the flags of a section of code, up to CUDA 12.9 */
    BARRIERS_MASK = 0x7f,
    FIRST_WITH_SPILLS = 129,   /* ptxas that is known to note its spills: 11.8 to 12.5 do not */
};

typedef struct Bytes {
    const uint8_t *at;
    size_t size;
} Bytes;

typedef struct Attribute {
    unsigned format, code;
    unsigned value;  /* the two bytes of a short attribute, the size of a long one */
    Bytes payload;
} Attribute;

static uint32_t read32(const uint8_t *at)
{
    return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Takes the next attribute off `info`. */
static bool next_attribute(Bytes *info, Attribute *attribute)
{
    if (info->size < 4)
        return false;
    *attribute = (Attribute){info->at[0], info->at[1], info->at[2] | info->at[3] << 8, {NULL, 0}};
    info->at += 4;
    info->size -= 4;
    if (attribute->format != FORMAT_BYTES)
        return true;
    if (attribute->value > info->size)
        return false;
    attribute->payload = (Bytes){info->at, attribute->value};
    info->at += attribute->value;
    info->size -= attribute->value;
    return true;
}

size_t cubin_spills(const CubinFunction *function, uint32_t *offsets)
{
    Bytes info = {function->info, function->info_bytes};
    Attribute attribute;
    size_t count = 0;
    while (next_attribute(&info, &attribute)) {
        if (attribute.code != ATTR_ANNOTATIONS)
            continue;
        Bytes notes = attribute.payload;
        for (; notes.size >= 8 && read32(notes.at) == ANNOTATION_SPILL; notes.at += 8, notes.size -= 8) {
            if (offsets)
                offsets[count] = read32(notes.at + 4);
            count++;
        }
    }
    return count;
}

void cubin_branch_targets(const CubinFunction *function, uint32_t branch,
                          void (*visit)(void *context, uint32_t target), void *context)
{
    Bytes info = {function->info, function->info_bytes};
    Attribute attribute;
    while (next_attribute(&info, &attribute)) {
        if (attribute.code != ATTR_BRANCH_TARGETS)
            continue;
        Bytes table = attribute.payload; /* branch, 0, how many, the targets */
        while (table.size >= 12) {
            size_t targets = read32(table.at + 8);
            if (targets > (table.size - 12) / 4)
                break;
            for (size_t i = 0; i < targets && read32(table.at) == branch; i++)
                visit(context, read32(table.at + 12 + 4 * i));
            table.at += 12 + 4 * targets;
            table.size -= 12 + 4 * targets;
        }
    }
}

static const char *section_name(Elf *elf, const GElf_Shdr *header)
{
    size_t strings;
    const char *name = elf_getshdrstrndx(elf, &strings) ? NULL : elf_strptr(elf, strings, header->sh_name);
    return name ? name : "";
}

/* The section of that name, made of two parts; NULL if there is none. */
static Elf_Scn *find_section(Elf *elf, const char *prefix, const char *rest, GElf_Shdr *header)
{
    size_t length = strlen(prefix);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        if (!gelf_getshdr(section, header))
            continue;
        const char *name = section_name(elf, header);
        if (!strncmp(name, prefix, length) && !strcmp(name + length, rest))
            return section;
    }
    return NULL;
}

static Bytes section_bytes(Elf_Scn *section)
{
    Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
    return data && data->d_buf ? (Bytes){data->d_buf, data->d_size} : (Bytes){NULL, 0};
}

/* The value of an attribute of .nv.info that is given by symbol. */
static unsigned symbol_attribute(Bytes info, unsigned code, size_t symbol)
{
    Attribute attribute;
    while (next_attribute(&info, &attribute))
        if (attribute.code == code && attribute.payload.size >= 8 && read32(attribute.payload.at) == symbol)
            return read32(attribute.payload.at + 4);
    return 0;
}

static void read_kernel_info(Elf *elf, const char *owner, unsigned sm, CubinFunction *function)
{
    GElf_Shdr header;
    Bytes info = section_bytes(find_section(elf, ".nv.info.", owner, &header));
    Attribute attribute;

    function->info = info.at;
    function->info_bytes = info.size;
    function->notes_spills = true;
    while (next_attribute(&info, &attribute))
        if (attribute.code == ATTR_BARRIERS && function->kernel)
            function->barriers = attribute.value & 0xff;
        else if (attribute.code == ATTR_CUDA_VERSION && attribute.payload.size >= 4)
            function->notes_spills = cubin_spills(function, NULL) || read32(attribute.payload.at) >= FIRST_WITH_SPILLS;
    if (function->kernel && find_section(elf, ".nv.shared.", owner, &header)) {
        uint64_t reserved = sm >= 90 ? RESERVED_SHARED : 0;
        function->shared = header.sh_size > reserved ? header.sh_size - reserved : 0;
    }
}

static void add_function(Cubin *cubin, const GElf_Sym *symbol, size_t index, const char *name)
{
    static const char prefix[] = ".text.";
    Elf *elf = cubin->elf;
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    GElf_Shdr header;
    Bytes code = section_bytes(section);

    if (!section || !gelf_getshdr(section, &header) || symbol->st_value + symbol->st_size > code.size)
        return;
    const char *owner = section_name(elf, &header);
    if (strncmp(owner, prefix, sizeof prefix - 1))
        return;

    CubinFunction *function = &cubin->functions[cubin->count++];
    *function = (CubinFunction){
        .name = name,
        .kernel = symbol->st_other & OTHER_ENTRY,
        .code = code.at,
        .begin = (uint32_t)symbol->st_value,
        .end = (uint32_t)(symbol->st_value + symbol->st_size),
    };
    GElf_Shdr info_header;
    Bytes info = section_bytes(find_section(elf, ".nv.info", "", &info_header));
    function->registers = symbol_attribute(info, ATTR_REGISTERS, index);
    function->stack = symbol_attribute(info, ATTR_FRAME_SIZE, index);
    if (function->kernel)
        function->barriers = header.sh_flags >> BARRIERS_SHIFT & BARRIERS_MASK; /* 0 since 13.0: an attribute holds them */
    read_kernel_info(elf, owner + sizeof prefix - 1, cubin->sm, function);
}

static int by_place(const void *left, const void *right)
{
    const CubinFunction *a = left, *b = right;
    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return 0;
}

static bool read_functions(Cubin *cubin)
{
    GElf_Shdr header;
    Elf_Scn *section = find_section(cubin->elf, ".symtab", "", &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    if (!data || !header.sh_entsize)
        return false;

    size_t symbols = header.sh_size / header.sh_entsize;
    cubin->functions = calloc(symbols ? symbols : 1, sizeof *cubin->functions);
    if (!cubin->functions)
        return false;
    for (size_t i = 0; i < symbols; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size)
            continue;
        const char *name = elf_strptr(cubin->elf, header.sh_link, symbol.st_name);
        add_function(cubin, &symbol, i, name ? name : "");
    }
    qsort(cubin->functions, cubin->count, sizeof *cubin->functions, by_place);
    for (size_t i = 0; i + 1 < cubin->count; i++) {
        CubinFunction *function = &cubin->functions[i], *next = function + 1;
        if (function->code == next->code && function->end > next->begin)
            function->end = next->begin;
    }
    return true;
}

/* Up to CUDA 12.9 the flags begin with the architecture, since 13.0 it is their second byte. */
static unsigned architecture(const GElf_Ehdr *header)
{
    unsigned shift = header->e_ident[EI_ABIVERSION] < ABI_VERSION_13 ? 0 : 8;
    return header->e_flags >> shift & 0xff;
}

bool cubin_open(Cubin *cubin, const char *path, char *error, size_t error_bytes)
{
    GElf_Ehdr header;
    *cubin = (Cubin){.descriptor = open(path, O_RDONLY)};
    if (cubin->descriptor < 0) {
        snprintf(error, error_bytes, "%s: cannot open", path);
        return false;
    }
    elf_version(EV_CURRENT);
    cubin->elf = elf_begin(cubin->descriptor, ELF_C_READ, NULL);
    if (!cubin->elf || !gelf_getehdr(cubin->elf, &header) || header.e_machine != MACHINE_CUDA) {
        snprintf(error, error_bytes, "%s: not a cubin", path);
        cubin_close(cubin);
        return false;
    }
    cubin->sm = architecture(&header);
    if (cubin->sm < 75 || !read_functions(cubin)) {
        snprintf(error, error_bytes, "%s: not a cubin of sm_75 or later with a symbol table", path);
        cubin_close(cubin);
        return false;
    }
    return true;
}

void cubin_close(Cubin *cubin)
{
    free(cubin->functions);
    if (cubin->elf)
        elf_end(cubin->elf);
    if (cubin->descriptor >= 0)
        close(cubin->descriptor);
    *cubin = (Cubin){.descriptor = -1};
}
