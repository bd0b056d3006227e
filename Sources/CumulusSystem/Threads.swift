// Threads of the process, for work that blocks.
//
// Used by the node for the store's threads.

/// Starts a thread of the process; its name is what `top` and `perf` show, up to 15 bytes.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
    let start = ThreadStart(name, body)
    let context = Unmanaged.passRetained(start).toOpaque()
    #if os(Linux)
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, { $0.flatMap(runThread) }, context)
    #else
        var thread: pthread_t?
        let code = pthread_create(&thread, nil, { runThread($0) }, context)
    #endif
    precondition(code == 0, "a thread can't be started: \(systemText(code))")
    #if os(Linux)
        pthread_detach(thread)
    #else
        if let thread { pthread_detach(thread) }
    #endif
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runThread(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    let start = Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
    nameThread(String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
    start.body()
    return nil
}

/// Names the calling thread.
private func nameThread(_ name: String) {
    #if os(Linux)
        let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        write(name, to: descriptor)
        close(descriptor)
    #else
        pthread_setname_np(name)
    #endif
}
