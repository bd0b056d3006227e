// A lock, and waiting for what another thread changes under it.
//
// Used by the queues of the store's threads. POSIX threads' mutex and condition variable; waits can
// end without a reason, so callers look again.

package final class Condition: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let variable = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(variable, nil)
    }

    deinit {
        pthread_cond_destroy(variable)
        pthread_mutex_destroy(mutex)
        variable.deallocate()
        mutex.deallocate()
    }

    package func lock() { pthread_mutex_lock(mutex) }
    package func unlock() { pthread_mutex_unlock(mutex) }

    /// Gives up the lock until another thread signals, and takes it again.
    package func wait() { pthread_cond_wait(variable, mutex) }

    /// Wakes one thread that waits.
    package func signal() { pthread_cond_signal(variable) }

    /// Wakes all threads that wait.
    package func broadcast() { pthread_cond_broadcast(variable) }
}
