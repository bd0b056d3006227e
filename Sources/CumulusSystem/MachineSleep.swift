// How long the machine has slept since it began.
//
// Called by `cumulusd`, for a node that compares its wall clock with a clock that never goes back:
// the wall clock goes on while the machine sleeps, the other one stands still.

package enum MachineSleep {
    /// Milliseconds of sleep since the machine began.
    package static func milliseconds() -> Int64 {
        #if os(Linux)
            while true {
                let awake = reading(of: CLOCK_MONOTONIC)
                let all = reading(of: CLOCK_BOOTTIME)
                // If the process was stopped in between, the two are not of one time.
                if reading(of: CLOCK_MONOTONIC) - awake <= 1 { return max(0, all - awake) }
            }
        #else
            let all = clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW)
            let awake = clock_gettime_nsec_np(CLOCK_UPTIME_RAW)
            return Int64(all - min(all, awake)) / 1_000_000
        #endif
    }

    #if os(Linux)
        private static func reading(of clock: Int32) -> Int64 {
            var time = timespec()
            clock_gettime(clock, &time)
            return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
        }
    #endif
}
