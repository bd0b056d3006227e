// A property of an operation that holds a block of the app.
//
// Blocks are plain functions, as in Apple's framework: a block may capture values that are not
// sendable. That is sound because an operation calls its blocks one after the other, in its own
// task. It is public only because the properties are.

internal import Synchronization

/// Keeps a block behind a lock.
@propertyWrapper
public final class _Block<Value>: Sendable {
    private let box: _Guarded<Unchecked<Value>>

    /// Begins with a block, or with nil.
    public init(wrappedValue: Value) {
        box = _Guarded(wrappedValue: Unchecked(value: wrappedValue))
    }

    /// The block.
    public var wrappedValue: Value {
        get { box.wrappedValue.value }
        set { box.wrappedValue = Unchecked(value: newValue) }
    }
}

/// A value that counts as sendable; its user answers for that.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
}

/// A function that any task may call: it calls a block, once at a time.
func oneAtATime<First, Second>(
    _ block: @escaping (First, Second) -> Void
) -> @Sendable (First, Second) -> Void {
    let turn = Turn(block: block)
    return { first, second in turn.take { $0(first, second) } }
}

/// Keeps a block that only one task may call at a time.
private final class Turn<Block>: Sendable {
    private let block: Mutex<Unchecked<Block>>

    init(block: Block) {
        self.block = Mutex(Unchecked(value: block))
    }

    func take(_ call: (Block) -> Void) {
        block.withLock { call($0.value) }
    }
}
