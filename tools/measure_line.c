#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
_Alignas(128) static atomic_int word;
enum { ROUNDS = 2000000 };
static void *other(void *x) { for (int i = 0; i < ROUNDS; i++) { while (atomic_load(&word) != 1); atomic_store(&word, 0); } return x; }
int main(void) {
  pthread_t t; struct timespec a, b; pthread_create(&t, 0, other, 0);
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < ROUNDS; i++) { atomic_store(&word, 1); while (atomic_load(&word) != 0); }
  clock_gettime(CLOCK_MONOTONIC, &b); pthread_join(t, 0);
  printf("%.1f ns a line transfer\n", ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / ROUNDS / 2);
  clock_gettime(CLOCK_MONOTONIC, &a); for (int i = 0; i < 10000000; i++) __builtin_ia32_pause(); clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%.1f ns a PAUSE\n", ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / 1e7);
}
