/* Makes each sync of a file take SLOWSYNC_US microseconds longer, as on a
 * volume that is reached over a network. Preloaded by "make bench". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int slow(const char *name, int fd) {
  const char *text = getenv("SLOWSYNC_US");
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  if (text) usleep((useconds_t)atoi(text));
  return real(fd);
}

int fsync(int fd) { return slow("fsync", fd); }
int fdatasync(int fd) { return slow("fdatasync", fd); }
