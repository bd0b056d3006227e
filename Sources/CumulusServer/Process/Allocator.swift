// Makes the allocator give back memory that is not used any more, soon, and also when the node
// rests.
//
// Called once, when the node starts. RocksDB's library brings jemalloc on many systems, which by
// itself keeps what was freed until somebody allocates again: a node that served a burst would stay
// as large as it was then. Elsewhere nothing happens. MALLOC_CONF, if it is set, wins.

import CumulusSystem

enum Allocator {
    private typealias Control =
        @convention(c) (
            UnsafePointer<CChar>, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>?,
            UnsafeMutableRawPointer?, Int
        ) -> Int32

    /// How long what was freed is kept for the next who wants it, in milliseconds.
    private static let decay = 1_000

    static func giveBackSoon() {
        guard getenv("MALLOC_CONF") == nil, let found = dlsym(dlopen(nil, RTLD_NOW), "mallctl")
        else { return }
        let control = unsafeBitCast(found, to: Control.self)
        set("arenas.dirty_decay_ms", decay, control)
        // 4096 stands for all arenas that there are.
        set("arena.4096.dirty_decay_ms", decay, control)
        set("background_thread", true, control)
    }

    private static func set<Value: BitwiseCopyable>(
        _ name: String,
        _ value: Value,
        _ control: Control
    ) {
        var value = value
        _ = control(name, nil, nil, &value, MemoryLayout<Value>.size)
    }
}
