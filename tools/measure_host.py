#!/usr/bin/env python3
"""Measure what the profile `host` says of a machine: CPU clock, switches, disk.

    python3 tools/measure_host.py [DIRECTORY]

DIRECTORY (default: the present one) is on the disk to measure. A file of 1 GiB is
made there and removed. Every figure is a median, so that what else the machine does
in the meantime matters little; the mean is beside it.
"""

import mmap
import os
import random
import statistics
import sys
import tempfile
import threading
import time

PAGE = 16 * 1024
FILE_BYTES = 1 << 30
SAMPLES = 2000
SYNC_SAMPLES = 500


def times_us(samples, action):
    """Runs an action so many times; the time of each, in microseconds."""
    times = []
    for _ in range(samples):
        begin = time.perf_counter_ns()
        action()
        times.append((time.perf_counter_ns() - begin) / 1e3)
    return times


def show(what, times):
    """One line of the result."""
    ordered = sorted(times)
    print(
        f"{what:<44} median {statistics.median(ordered):8.1f} us"
        f"  mean {statistics.fmean(ordered):8.1f}  p95 {ordered[len(ordered) * 95 // 100]:8.1f}"
        f"  cv {statistics.pstdev(ordered) / statistics.fmean(ordered):.2f}"
    )


def disk(directory):
    """Latencies of one request at a time, past the page cache."""
    buffer = mmap.mmap(-1, 1 << 20)
    buffer.write(os.urandom(1 << 20))
    page = memoryview(buffer)[:PAGE]
    block = memoryview(buffer)[:512]
    path = os.path.join(directory, "measure-host.tmp")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    try:
        for offset in range(0, FILE_BYTES, 1 << 20):
            os.pwritev(descriptor, [buffer], offset)
        os.fsync(descriptor)
        draw = random.Random(1)

        def anywhere():
            return draw.randrange(FILE_BYTES // PAGE) * PAGE

        show("16 KiB random read", times_us(SAMPLES, lambda: os.preadv(descriptor, [page], anywhere())))
        show("16 KiB random write", times_us(SAMPLES, lambda: os.pwritev(descriptor, [page], anywhere())))

        def write_and_sync():
            os.pwritev(descriptor, [page], anywhere())
            os.fdatasync(descriptor)

        show("16 KiB random write with fdatasync", times_us(SYNC_SAMPLES, write_and_sync))
        os.fsync(descriptor)

        def log_write():
            os.pwritev(descriptor, [block], 0)
            os.fdatasync(descriptor)

        show("512 B write at one place with fdatasync", times_us(SYNC_SAMPLES, log_write))
        begin = time.perf_counter()
        for offset in range(0, FILE_BYTES, 1 << 20):
            os.preadv(descriptor, [buffer], offset)
        rate = FILE_BYTES / (1 << 20) / (time.perf_counter() - begin)
        print(f"{'1 MiB sequential reads':<44} {rate:8.0f} MiB/s")
        begin = time.perf_counter()
        for offset in range(0, FILE_BYTES, 1 << 20):
            os.pwritev(descriptor, [buffer], offset)
        os.fdatasync(descriptor)
        rate = FILE_BYTES / (1 << 20) / (time.perf_counter() - begin)
        print(f"{'1 MiB sequential writes, flushed':<44} {rate:8.0f} MiB/s")
        for threads in (4, 16, 32):
            many_readers(path, threads)
    finally:
        os.close(descriptor)
        os.unlink(path)


def many_readers(path, threads):
    """Reads a second by several threads: how many the disk serves at a time."""
    stop = time.perf_counter() + 3
    counts = [0] * threads

    def reader(number):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, PAGE)
        draw = random.Random(number)
        while time.perf_counter() < stop:
            os.preadv(descriptor, [buffer], draw.randrange(FILE_BYTES // PAGE) * PAGE)
            counts[number] += 1
        os.close(descriptor)

    readers = [threading.Thread(target=reader, args=(number,)) for number in range(threads)]
    for each in readers:
        each.start()
    for each in readers:
        each.join()
    print(f"{f'16 KiB random reads, {threads} threads':<44} {sum(counts) / 3:8.0f} reads/s")


def sleep_slack():
    """What a timed sleep of 1 ms takes beyond that."""
    show("sleep of 1 ms", times_us(500, lambda: time.sleep(0.001)))


def hand_off():
    """A byte there and back through two pipes: two wake-ups and two switches."""
    there, back = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        while os.read(there[0], 1) == b"x":
            os.write(back[1], b"x")
        os._exit(0)

    def ping():
        os.write(there[1], b"x")
        os.read(back[0], 1)

    show("hand-off between processes, there and back", times_us(5000, ping))
    os.write(there[1], b"q")
    os.waitpid(child, 0)


def main():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(("model name", "cpu MHz")):
                print(" ".join(line.split()))
    print(f"logical CPUs {os.cpu_count()}")
    sleep_slack()
    hand_off()
    directory = sys.argv[1] if len(sys.argv) > 1 else "."
    with tempfile.TemporaryDirectory(dir=directory) as inside:
        disk(inside)


if __name__ == "__main__":
    main()
