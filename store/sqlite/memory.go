//go:build cgo && linux

package sqlite

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void give_back(int threshold) { mallopt(M_MMAP_THRESHOLD, threshold); }
#else
static void give_back(int threshold) {}
#endif
*/
import "C"

// largePiece is from which size on memory of SQLite goes back to the system
// as soon as it is freed.
const largePiece = 256 << 10

// returnFreedMemory keeps the C library from keeping what SQLite has freed. That of GNU
// learns from the first body of 25 MiB to expect more of them, and then the
// process never again gets smaller than several of them side by side.
func returnFreedMemory() { C.give_back(largePiece) }
