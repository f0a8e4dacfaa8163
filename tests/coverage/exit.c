/* What a forked child has counted is written before it ends by _exit(), too: linked with --wrap=_exit. */
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));
extern void __gcov_dump(void);

void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}
