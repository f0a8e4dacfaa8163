/* cubincmp A B: whether two cubins hold the same, section by section; exit status 0: yes, 1: no, 2: cannot be read.
 * Left out is .nv_debug_ptx_txt, where ptxas keeps the PTX it was given when that has line information. It differs
 * between two spellings of one program, and moves what stands after it in the file. */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ElfFile {
    Elf *elf;
    size_t names; /* section of the section names */
} ElfFile;

static ElfFile elf_file_open(const char *path)
{
    ElfFile file = {0};
    int fd = open(path, O_RDONLY);
    file.elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    if (!file.elf || elf_getshdrstrndx(file.elf, &file.names) != 0) {
        fprintf(stderr, "cubincmp: %s: not an ELF file\n", path);
        exit(2);
    }
    return file;
}

static const char *section(const ElfFile *file, Elf_Scn *scn, GElf_Shdr *header)
{
    gelf_getshdr(scn, header);
    const char *name = elf_strptr(file->elf, file->names, header->sh_name);
    return name ? name : "";
}

static bool same_contents(Elf_Scn *a, Elf_Scn *b)
{
    Elf_Data *x = elf_rawdata(a, NULL), *y = elf_rawdata(b, NULL);
    if (!x || !y || !x->d_buf || !y->d_buf)
        return !(x && x->d_buf) == !(y && y->d_buf);
    return x->d_size == y->d_size && memcmp(x->d_buf, y->d_buf, x->d_size) == 0;
}

static bool same_section(const ElfFile *a, Elf_Scn *in_a, const ElfFile *b, Elf_Scn *in_b)
{
    GElf_Shdr x, y;
    const char *name = section(a, in_a, &x);
    if (strcmp(name, section(b, in_b, &y)) != 0) {
        printf("section %zu is %s and %s\n", elf_ndxscn(in_a), name, section(b, in_b, &y));
        return false;
    }
    if (strcmp(name, ".nv_debug_ptx_txt") == 0)
        return true;
    bool header = x.sh_type == y.sh_type && x.sh_flags == y.sh_flags && x.sh_link == y.sh_link && x.sh_info == y.sh_info &&
                  x.sh_size == y.sh_size && x.sh_addralign == y.sh_addralign && x.sh_entsize == y.sh_entsize;
    if (header && same_contents(in_a, in_b))
        return true;
    printf("section %s differs\n", name);
    return false;
}

int main(int argc, char **argv)
{
    if (argc != 3 || elf_version(EV_CURRENT) == EV_NONE) {
        fputs("usage: cubincmp A.file B.cubin\n", stderr);
        return 2;
    }
    ElfFile a = elf_file_open(argv[1]), b = elf_file_open(argv[2]);
    GElf_Ehdr x, y;
    bool same = gelf_getehdr(a.elf, &x) && gelf_getehdr(b.elf, &y) && x.e_flags == y.e_flags && x.e_phnum == y.e_phnum;
    if (!same)
        puts("the file headers differ");

    Elf_Scn *in_a = NULL, *in_b = NULL;
    for (;;) {
        in_a = elf_nextscn(a.elf, in_a);
        in_b = elf_nextscn(b.elf, in_b);
        if (!in_a || !in_b)
            break;
        same &= same_section(&a, in_a, &b, in_b);
    }
    if (in_a || in_b) {
        puts("one file has more sections");
        same = false;
    }
    elf_end(a.elf);
    elf_end(b.elf);
    return same ? 0 : 1;
}
