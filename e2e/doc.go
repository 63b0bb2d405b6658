// Package e2e tests the built program on real sockets, signals, files and disks,
// and the whole service in fake time. It holds nothing but tests: the black-box
// tests, the scenarios, the browser test, the image, and the benchmarks.
package e2e
