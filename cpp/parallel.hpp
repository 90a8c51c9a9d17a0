// Loops over chunks on plain threads. No OpenMP: its pool hangs in a child forked after the parent used it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "check.hpp"

namespace topwise {

// The chunk size, a multiple of `unit` and at most `most`, that gives every worker the same number of chunks.
inline std::int64_t even_chunk(std::int64_t count, std::int64_t most, std::int64_t unit, int threads) {
    const auto divide_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const std::int64_t workers = std::max(threads, 1);
    const std::int64_t rounds = std::max<std::int64_t>(1, divide_up(count, workers * most));
    return std::max(unit, divide_up(divide_up(count, workers * rounds), unit) * unit);
}

// Calls body(begin, end, worker) for consecutive chunks of [0, count), which `threads` workers take in turn.
// Worker 0 is the calling thread, so that one thread costs nothing to start. The first exception of any
// worker stops the handing out of chunks and is rethrown here once all have ended; so does *stop turning
// true, without an exception.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t chunk, int threads, Body&& body,
                  const std::atomic<bool>* stop = nullptr) {
    check(threads >= 1, [&] { return "threads must be at least 1, got " + std::to_string(threads); });
    check(chunk >= 1, [&] { return "chunk must be at least 1, got " + std::to_string(chunk); });
    const std::int64_t chunks = count / chunk + (count % chunk != 0);
    const int workers = static_cast<int>(std::clamp<std::int64_t>(chunks, 1, threads));
    std::atomic<std::int64_t> next{0};
    std::atomic<bool> failed{false};
    std::vector<std::exception_ptr> errors(workers);

    auto work = [&](int worker) {
        try {
            while (!failed.load(std::memory_order_relaxed) &&
                   !(stop && stop->load(std::memory_order_relaxed))) {
                const std::int64_t taken = next.fetch_add(1, std::memory_order_relaxed);
                if (taken >= chunks) return;
                body(taken * chunk, std::min(count, (taken + 1) * chunk), worker);
            }
        } catch (...) {
            errors[worker] = std::current_exception();
            failed = true;
        }
    };
    {
        std::vector<std::jthread> helpers;  // joined at the end of this block, also when starting one throws
        helpers.reserve(workers - 1);
        try {
            for (int worker = 1; worker < workers; ++worker) helpers.emplace_back(work, worker);
        } catch (...) {
            failed = true;
            throw;
        }
        work(0);
    }
    for (const std::exception_ptr& error : errors) {
        if (error) std::rethrow_exception(error);
    }
}

}  // namespace topwise
