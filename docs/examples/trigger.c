/* trigger HOST PORT COUNT: offers triggers to a farm on UDP and prints each answer (docs/triggers.md).
   cc -o trigger trigger.c */
#define _POSIX_C_SOURCE 200809L
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

int main(int argc, char** argv) {
  struct addrinfo wanted = {.ai_socktype = SOCK_DGRAM}, *to = NULL;
  if (argc != 4 || getaddrinfo(argv[1], argv[2], &wanted, &to) != 0) {
    fprintf(stderr, "trigger HOST PORT COUNT\n");
    return 2;
  }
  const int port = socket(to->ai_family, SOCK_DGRAM, 0);
  const struct timeval patience = {.tv_sec = 1};
  setsockopt(port, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (port < 0 || connect(port, to->ai_addr, to->ai_addrlen) != 0) return 1;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const unsigned long long session = (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;

  for (long n = 1; n <= atol(argv[3]); ++n) {
    char line[256], mark[64], answer[2048];
    snprintf(mark, sizeof mark, " n=%ld session=%llu\n", n, session);
    const int length = snprintf(line, sizeof line, "trigger client=c%s", mark);
    for (;;) { /* the request is repeated until its answer arrives: that makes no second slice */
      if (send(port, line, (size_t)length, 0) < 0) nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
      const ssize_t size = recv(port, answer, sizeof answer - 1, 0);
      if (size <= 0) continue;
      answer[size] = '\0';
      if (strncmp(answer, "error", 5) == 0) {
        fputs(answer, stderr);
        return 1;
      }
      if (strstr(answer, mark) == NULL) continue; /* the answer to an earlier repeat */
      *strstr(answer, " n=") = '\0';
      puts(answer);
      break;
    }
  }
  return 0;
}
