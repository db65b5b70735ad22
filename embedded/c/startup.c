/* The beginning of a C program on QEMU's mps2-an386; newlib's semihosting does the rest. */
#include <stdint.h>

extern uint32_t stack_end, data_start, data_end, data_from, bss_start, bss_end;
extern void initialise_monitor_handles(void);
extern int main(void);
extern void exit(int) __attribute__((noreturn));

void start(void)
{
    uint32_t *to = &data_start, *from = &data_from;
    /* newlib uses the floating-point registers (CPACR). */
    *(volatile uint32_t *)0xe000ed88 |= 0xf << 20;
    while (to < &data_end)
        *to++ = *from++;
    for (to = &bss_start; to < &bss_end; to++)
        *to = 0;
    initialise_monitor_handles();
    exit(main());
}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {&stack_end, (void *)start};

/* What newlib calls at the end. */
void _fini(void) {}

/* Where newlib's heap begins. */
uint32_t heap[4096];
extern uint32_t end __attribute__((alias("heap")));
