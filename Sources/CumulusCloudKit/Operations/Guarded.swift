// A property of a class that any thread may read and set.
//
// Used for the inputs and blocks of operations. Public only because the properties are.

internal import Synchronization

/// Keeps a property's value behind a lock.
@propertyWrapper
public final class _Guarded<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    /// Begins with a value.
    public init(wrappedValue: Value) {
        value = Mutex(wrappedValue)
    }

    /// The value.
    public var wrappedValue: Value {
        get { value.withLock { $0 } }
        set {
            // The old value ends outside of the lock: what ends with it may come back here.
            let old = value.withLock { current in
                let old = current
                current = newValue
                return old
            }
            withExtendedLifetime(old) {}
        }
    }
}
