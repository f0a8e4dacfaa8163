#include "judge/machine/cubin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/source.h"
#include "judge/machine/sass.h"

enum {
    MACHINE_CUDA = 190,
    OS_ABI_12 = 0x33,      /* of the ELF that ptxas writes up to CUDA 12.9 */
    NEWEST_VERSION_12 = 7, /* of its ABI; older where the PTX is old */
    OS_ABI_13 = 0x41,      /* since CUDA 13.0 */
    NEWEST_VERSION_13 = 8,
    OTHER_ENTRY = 0x10,     /* STO_CUDA_ENTRY in st_other */
    RESERVED_SHARED = 1024, /* counted by the section of every linked kernel since sm_90 */

    FORMAT_BYTES = 0x04,     /* attribute with a size and a payload; the others take 4 bytes in all */
    ATTR_MAX_THREADS = 0x05, /* of .maxntid: three numbers */
    ATTR_REQUIRED_THREADS = 0x10,
    ATTR_FRAME_SIZE = 0x11,
    ATTR_REGISTERS = 0x2f,
    ATTR_BRANCH_TARGETS = 0x34,
    ATTR_CUDA_VERSION = 0x37, /* 129: 12.9 */
    ATTR_BARRIERS = 0x4c,
    ATTR_ANNOTATIONS = 0x55,
    ANNOTATION_SPILL = 1,

    BARRIERS_SHIFT = 20, /* in the flags of a section of code, up to CUDA 12.9 */
    BARRIERS_MASK = 0x7f,
    FIRST_WITH_SPILLS = 129, /* ptxas that is known to note its spills: 11.8 to 12.5 do not */
};

typedef struct Bytes {
    const uint8_t *at;
    size_t size;
} Bytes;

typedef struct Attribute {
    unsigned format, code;
    unsigned value; /* the two bytes of a short attribute, the size of a long one */
    Bytes payload;
} Attribute;

static uint32_t read32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Takes the next attribute off `info`. */
static bool next_attribute(Bytes *info, Attribute *attribute)
{
    if (info->size < 4)
        return false;
    *attribute = (Attribute){info->at[0], info->at[1], info->at[2] | (unsigned)info->at[3] << 8, {NULL, 0}};
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

void cubin_branch_targets(const CubinFunction *function, uint32_t branch, void (*visit)(void *context, uint32_t target),
                          void *context)
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

/* A section, by its index. */
typedef struct Section {
    Elf64_Shdr header;
    const char *name;
    Bytes bytes;
    uint32_t info, shared; /* sections that belong to this one of code; 0: none */
} Section;

/* The statements of .nv.info, by symbol. */
typedef struct SymbolInfo {
    unsigned registers, stack;
} SymbolInfo;

typedef struct Reader {
    Bytes file;
    Section *sections;
    size_t count;
    Bytes symbols;
    Bytes names;       /* of the symbols */
    SymbolInfo *info;  /* by symbol */
    const char *fault; /* what is wrong with the file; NULL: nothing yet */
} Reader;

static bool inside(Bytes file, uint64_t offset, uint64_t size) { return offset <= file.size && size <= file.size - offset; }

/* The string at `offset`; "" where it is not ended within the table. */
static const char *string_at(Bytes strings, uint64_t offset)
{
    if (offset >= strings.size || !memchr(strings.at + offset, 0, strings.size - offset))
        return "";
    return (const char *)strings.at + offset;
}

static bool read_header(Reader *reader, Elf64_Ehdr *header)
{
    static const char not_a_cubin[] = "not a cubin";
    reader->fault = not_a_cubin;
    if (reader->file.size < sizeof *header)
        return false;
    memcpy(header, reader->file.at, sizeof *header);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != MACHINE_CUDA)
        return false;
    unsigned os = header->e_ident[EI_OSABI], version = header->e_ident[EI_ABIVERSION];
    reader->fault = "a cubin of a version that is not known";
    if (!(os == OS_ABI_12 && version <= NEWEST_VERSION_12) && !(os == OS_ABI_13 && version <= NEWEST_VERSION_13))
        return false;
    reader->fault = "a cubin that was cut short";
    return header->e_shentsize == sizeof(Elf64_Shdr) && inside(reader->file, header->e_shoff, sizeof(Elf64_Shdr));
}

/* Whether a section has no bytes in the file. In objects for the linker, uninitialized variables have types of their
 * own. */
static bool has_no_bytes(uint32_t type)
{
    enum { GLOBAL = SHT_LOPROC + 7, SHARED = SHT_LOPROC + 10 };
    return type == SHT_NOBITS || type == SHT_NULL || type == GLOBAL || type == SHARED;
}

/* Headers and bytes of all sections. Counts that do not fit into the file's header stand in the first section. */
static bool read_sections(Reader *reader, const Elf64_Ehdr *header)
{
    Elf64_Shdr first;
    memcpy(&first, reader->file.at + header->e_shoff, sizeof first);
    uint64_t count = header->e_shnum ? header->e_shnum : first.sh_size;
    uint64_t names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
    if (count > reader->file.size / sizeof first || !inside(reader->file, header->e_shoff, count * sizeof first) ||
        names >= count)
        return false;
    reader->sections = mem_zalloc(count * sizeof *reader->sections);
    reader->count = count;
    for (size_t i = 0; i < count; i++) {
        Section *section = &reader->sections[i];
        memcpy(&section->header, reader->file.at + header->e_shoff + i * sizeof first, sizeof first);
        if (has_no_bytes(section->header.sh_type))
            continue;
        if (!inside(reader->file, section->header.sh_offset, section->header.sh_size))
            return false;
        section->bytes = (Bytes){reader->file.at + section->header.sh_offset, section->header.sh_size};
    }
    for (size_t i = 0; i < count; i++)
        reader->sections[i].name = string_at(reader->sections[names].bytes, reader->sections[i].header.sh_name);
    return true;
}

static bool begins(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* .nv.info.K and .nv.shared.K name the section of code that they belong to. */
static void join_sections(Reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        const Section *section = &reader->sections[i];
        if (section->header.sh_info >= reader->count)
            continue;
        Section *code = &reader->sections[section->header.sh_info];
        if (begins(section->name, ".nv.info."))
            code->info = (uint32_t)i;
        else if (begins(section->name, ".nv.shared."))
            code->shared = (uint32_t)i;
    }
}

static size_t symbol_count(const Reader *reader) { return reader->symbols.size / sizeof(Elf64_Sym); }

static bool read_symbols(Reader *reader)
{
    Bytes info = {NULL, 0};
    for (size_t i = 0; i < reader->count; i++) {
        const Section *section = &reader->sections[i];
        if (section->header.sh_type == SHT_SYMTAB && section->header.sh_link < reader->count) {
            reader->symbols = section->bytes;
            reader->names = reader->sections[section->header.sh_link].bytes;
        }
        if (!strcmp(section->name, ".nv.info"))
            info = section->bytes;
    }
    reader->fault = "a cubin without a symbol table";
    if (!reader->symbols.at)
        return false;
    reader->info = mem_zalloc((symbol_count(reader) + 1) * sizeof *reader->info);
    Attribute attribute;
    while (next_attribute(&info, &attribute)) {
        size_t symbol = attribute.payload.size >= 8 ? read32(attribute.payload.at) : symbol_count(reader);
        if (symbol >= symbol_count(reader))
            continue;
        if (attribute.code == ATTR_REGISTERS)
            reader->info[symbol].registers = read32(attribute.payload.at + 4);
        else if (attribute.code == ATTR_FRAME_SIZE)
            reader->info[symbol].stack = read32(attribute.payload.at + 4);
    }
    return true;
}

static unsigned threads_of(Bytes size)
{
    uint64_t threads = 1;
    for (size_t i = 0; i + 4 <= size.size && i < 12 && threads <= 1024; i += 4)
        threads *= read32(size.at + i);
    return threads <= 1024 ? (unsigned)threads : 0;
}

static void read_kernel_info(const Reader *reader, const Section *code, unsigned sm, CubinFunction *function)
{
    Bytes info = reader->sections[code->info].bytes;
    Attribute attribute;

    function->info = info.at;
    function->info_bytes = info.size;
    function->notes_spills = true;
    while (next_attribute(&info, &attribute))
        if (attribute.code == ATTR_BARRIERS && function->kernel)
            function->barriers = attribute.value & 0xff;
        else if (attribute.code == ATTR_CUDA_VERSION && attribute.payload.size >= 4)
            function->notes_spills = cubin_spills(function, NULL) || read32(attribute.payload.at) >= FIRST_WITH_SPILLS;
        else if (attribute.code == ATTR_REQUIRED_THREADS || attribute.code == ATTR_MAX_THREADS)
            function->threads = threads_of(attribute.payload);
    if (function->kernel && code->shared) {
        const Elf64_Shdr *shared = &reader->sections[code->shared].header;
        uint64_t reserved = sm >= 90 && shared->sh_type == SHT_NOBITS ? RESERVED_SHARED : 0, size = shared->sh_size;
        function->shared = size > reserved ? size - reserved : 0;
        function->dynamic_shared = !function->shared;
    }
}

/* False where a symbol of code leaves its section. */
static bool add_function(Cubin *cubin, const Reader *reader, const Elf64_Sym *symbol, size_t index)
{
    const Section *section = symbol->st_shndx < reader->count ? &reader->sections[symbol->st_shndx] : NULL;
    if (!section || !begins(section->name, ".text."))
        return true;
    if (!inside(section->bytes, symbol->st_value, symbol->st_size) || (symbol->st_value | symbol->st_size) % SASS_BYTES ||
        section->bytes.size > UINT32_MAX)
        return false;

    CubinFunction *function = &cubin->functions[cubin->count++];
    *function = (CubinFunction){
        .name = string_at(reader->names, symbol->st_name),
        .kernel = symbol->st_other & OTHER_ENTRY,
        .code = section->bytes.at,
        .begin = (uint32_t)symbol->st_value,
        .end = (uint32_t)(symbol->st_value + symbol->st_size),
        .registers = reader->info[index].registers,
        .stack = reader->info[index].stack,
    };
    function->inner = strcmp(section->name + strlen(".text."), function->name) != 0;
    if (function->kernel)
        function->barriers =
            section->header.sh_flags >> BARRIERS_SHIFT & BARRIERS_MASK; /* 0 since 13.0: an attribute holds them */
    read_kernel_info(reader, section, cubin->sm, function);
    return true;
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

static bool read_functions(Cubin *cubin, Reader *reader)
{
    cubin->functions = mem_zalloc((symbol_count(reader) + 1) * sizeof *cubin->functions);
    reader->fault = "a cubin whose code is not where its symbols say";
    for (size_t i = 0; i < symbol_count(reader); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, reader->symbols.at + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size && !add_function(cubin, reader, &symbol, i))
            return false;
    }
    qsort(cubin->functions, cubin->count, sizeof *cubin->functions, by_place);
    for (size_t i = 0; i + 1 < cubin->count; i++) {
        CubinFunction *function = &cubin->functions[i], *next = function + 1;
        if (function->code == next->code && function->end > next->begin)
            function->end = next->begin;
    }
    return true;
}

static bool is_known(unsigned sm)
{
    static const unsigned known[] = {75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (sm == known[i])
            return true;
    return false;
}

/* Reads the architecture from the flags. Up to CUDA 12.9 they begin with it, since 13.0 it is their second byte. */
static bool read_architecture(Cubin *cubin, Reader *reader, const Elf64_Ehdr *header)
{
    unsigned shift = header->e_ident[EI_OSABI] == OS_ABI_13 ? 8 : 0;
    cubin->sm = header->e_flags >> shift & 0xff;
    cubin->latencies = latency_table(cubin->sm);
    reader->fault = "a cubin of an architecture that is not known";
    return is_known(cubin->sm);
}

static bool read_cubin(Cubin *cubin, Reader *reader)
{
    Elf64_Ehdr header;
    if (!read_header(reader, &header) || !read_sections(reader, &header) || !read_architecture(cubin, reader, &header))
        return false;
    join_sections(reader);
    return read_symbols(reader) && read_functions(cubin, reader);
}

const char *cubin_read(Cubin *cubin, uint8_t *bytes, size_t size)
{
    Reader reader = {.file = {bytes, size}, .fault = "cannot be read"};
    *cubin = (Cubin){.bytes = bytes};
    bool good = bytes && read_cubin(cubin, &reader);
    mem_free(reader.sections);
    mem_free(reader.info);
    if (!good)
        cubin_close(cubin);
    return good ? NULL : reader.fault;
}

const char *cubin_open(Cubin *cubin, const char *path)
{
    Str file = {NULL, 0};
    source_read(path, &file);
    return cubin_read(cubin, (uint8_t *)(uintptr_t)file.p, file.len);
}

void cubin_close(Cubin *cubin)
{
    mem_free(cubin->functions);
    mem_free(cubin->bytes);
    *cubin = (Cubin){0};
}
