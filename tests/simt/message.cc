//: simt-symbol
// What the emulation says about a fault: the kernel, the block, the thread, the line.
#include "simt.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Kernels are in anonymous namespaces, whose names a program does not export: they are
// found in the file's own table of symbols.
static const char *file_of_program(size_t *size)
{
    static const char *file;
    static struct stat status;
    if (file == nullptr) {
        const int fd = open("/proc/self/exe", O_RDONLY);
        if (fd < 0 || fstat(fd, &status) != 0)
            return nullptr;
        void *p = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
        if (p == MAP_FAILED)
            return nullptr;
        file = static_cast<const char *>(p);
    }
    *size = size_t(status.st_size);
    return file;
}
static int note_base(dl_phdr_info *info, size_t, void *base)
{
    *static_cast<uintptr_t *>(base) = info->dlpi_addr;
    return 1; // the first object is the program; no more
}
static uintptr_t base_of_program(void)
{
    uintptr_t base = 0;
    dl_iterate_phdr(note_base, &base);
    return base;
}

//: simt-symbol-table
// The mangled name of the function at the address; null if there is none.
static const char *mangled_name(uintptr_t address)
{
    size_t size;
    const char *file = file_of_program(&size);
    if (file == nullptr)
        return nullptr;
    const ElfW(Ehdr) *header = reinterpret_cast<const ElfW(Ehdr) *>(file);
    const ElfW(Shdr) *sections =
        reinterpret_cast<const ElfW(Shdr) *>(file + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const char *names = file + sections[sections[i].sh_link].sh_offset;
        const ElfW(Sym) *symbols =
            reinterpret_cast<const ElfW(Sym) *>(file + sections[i].sh_offset);
        for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; j++) {
            const ElfW(Sym) &s = symbols[j];
            if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && address >= s.st_value &&
                address < s.st_value + s.st_size)
                return names + s.st_name;
        }
    }
    return nullptr;
}
// "void (anonymous namespace)::kernel<16, true>(float*, int)" becomes "kernel<16, true>".
static std::string without_types(std::string name)
{
    const std::string anonymous = "(anonymous namespace)::";
    for (size_t at; (at = name.find(anonymous)) != std::string::npos;)
        name.erase(at, anonymous.size());
    int depth = 0; // of angle brackets
    size_t begin = 0;
    for (size_t i = 0; i < name.size(); i++) {
        depth += (name[i] == '<') - (name[i] == '>');
        if (depth == 0 && name[i] == ' ')
            begin = i + 1;
        if (depth == 0 && name[i] == '(')
            return name.substr(begin, i - begin);
    }
    return name;
}
std::string simt_symbol(const void *address)
{
    const char *mangled =
        mangled_name(reinterpret_cast<uintptr_t>(address) - base_of_program());
    if (mangled == nullptr)
        return "?";
    int status;
    char *plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    const std::string name = plain == nullptr ? mangled : without_types(plain);
    free(plain);
    return name;
}

//: simt-source
// binutils' addr2line reads the debugging information; it came with the compiler.
std::string simt_source(const void *pc)
{
    char text[400];
    snprintf(text, sizeof text, "addr2line -sCe /proc/%d/exe 0x%zx", getpid(),
             size_t(reinterpret_cast<uintptr_t>(pc) - base_of_program()));
    FILE *pipe = popen(text, "r");
    if (pipe == nullptr || fgets(text, sizeof text, pipe) == nullptr)
        strcpy(text, "?");
    if (pipe != nullptr)
        pclose(pipe);
    text[strcspn(text, " \n")] = 0; // no "(discriminator 3)"
    return text;
}

//: simt-die
void simt_say_where(void)
{
    if (simt_grid == nullptr) {
        fprintf(stderr, "simt: in the host's code");
        return;
    }
    fprintf(stderr, "simt: in %s, block (%u,%u,%u)", simt_symbol(simt_grid->kernel).c_str(),
            blockIdx.x, blockIdx.y, blockIdx.z);
    if (simt_self != nullptr)
        fprintf(stderr, ", thread (%u,%u,%u)", threadIdx.x, threadIdx.y, threadIdx.z);
}
void simt_die(const char *format, ...)
{
    fflush(stdout);
    simt_say_where();
    fputs(": ", stderr);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

//: simt-sanitizers
// The sanitizers call these before they report a fault of their own finding.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
extern "C" void __asan_on_error(void)
{
    void *address = __asan_get_report_address();
    simt_say_where();
    fprintf(stderr, ": %s %p%s\n", __asan_get_report_access_type() ? "writes" : "reads",
            address,
            simt_where(address, 1) == SIMT_DEVICE ? ", in device memory"
            : simt_where(address, 1) == SIMT_PINNED
                ? ", in memory that a stream has yet to fill"
                : "");
}
extern "C" void __ubsan_on_report(void)
{
    simt_say_where();
    fputs(": undefined behaviour\n", stderr);
}
#endif
