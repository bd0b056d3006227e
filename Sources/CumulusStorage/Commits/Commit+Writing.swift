// Writes the canonical bytes of a commit.
//
// Used by the node that makes the commit; every other node keeps and sends the same bytes. hot:
// once per saved request.

import Crypto
package import CumulusModel

// MARK: - Canonical form: writing

extension Commit {
    /// The bytes of `log.proto`'s `Commit`.
    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 512)
        writer.field(1, fixed64: stamp.dot.incarnation.value)
        writer.field(2, varint: stamp.dot.seq)
        writer.field(3, fixed64: stamp.time.value)
        for dot in dep { writer.field(4, dot: dot) }
        writer.field(5, bytes: previousHash)
        writer.field(6, bytes: requestID)
        writer.field(7, text: user)
        writer.field(8, bytes: device)
        writer.field(9, varint: isGuarded ? 1 : 0)
        if let zone {
            writer.field(10, varint: UInt64(zone.database.kind.rawValue))
            writer.field(11, text: zone.database.owner)
            writer.field(12, text: zone.name)
            writer.field(13, varint: zone.generation)
        }
        for operation in operations {
            writer.message(14) { operation.write(to: &$0) }
        }
        return writer.bytes
    }
}

extension Commit.Operation {
    fileprivate func write(to writer: inout CanonicalWriter) {
        switch self {
        case .put(let put): writer.message(1) { put.write(to: &$0) }
        case .delete(let name, let births, let keys):
            writer.message(2) { writer in
                writer.field(1, text: name)
                for birth in births { writer.field(2, dot: birth) }
                for key in keys { writer.field(3, key: key) }
            }
        case .zoneCreate: writer.message(3) { _ in }
        case .zoneDelete(let reason): writer.message(4) { $0.field(1, varint: UInt64(reason)) }
        case .register(let register): writer.message(5) { register.write(to: &$0) }
        case .access(let access): writer.message(6) { access.write(to: &$0) }
        }
    }
}

extension Commit.Put {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.field(1, text: recordName)
        if let birth { writer.field(2, dot: birth) }
        writer.field(3, text: type)
        for increment in increments { writer.field(4, increment: increment) }
        for reset in resetCounters { writer.field(5, increment: reset) }
        if let parent {
            writer.message(6) { writer in
                writer.field(1, text: parent.recordName)
                if let birth = parent.birth { writer.field(2, dot: birth) }
            }
        }
        for target in targets {
            writer.message(7) { writer in
                writer.field(1, text: target.field)
                writer.field(2, varint: UInt64(target.element))
                writer.field(3, dot: target.birth)
            }
        }
        for birth in absorbed { writer.field(8, dot: birth) }
        writer.field(9, varint: isFull ? 1 : 0)
        writer.raw(fields.bytes)
        if let origin { writer.field(11, varint: UInt64(origin.rawValue)) }
        for key in endedKeys { writer.field(12, key: key) }
    }
}

extension Commit.Access {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.field(1, text: recordName)
        for birth in births { writer.field(2, dot: birth) }
        for entry in entries {
            writer.message(3) { writer in
                writer.field(1, bytes: entry.key)
                writer.field(2, bytes: entry.value)
            }
        }
        if let share { writer.present(4, bytes: share.utf8) }
    }
}

extension Commit.Register {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.field(1, text: namespace)
        for part in key { writer.present(2, bytes: part) }
        if let value { writer.present(3, bytes: value) }
    }
}

extension CanonicalWriter {
    fileprivate mutating func field(_ field: Int, dot: Dot) {
        message(field) { writer in
            writer.field(1, fixed64: dot.incarnation.value)
            writer.field(2, varint: dot.seq)
        }
    }

    fileprivate mutating func field(_ field: Int, key: LifeKey) {
        message(field) { $0.field(1, fixed64: key.value) }
    }

    fileprivate mutating func field(_ field: Int, increment: Commit.Increment) {
        message(field) { writer in
            writer.field(1, text: increment.field)
            writer.field(2, signed: increment.delta)
        }
    }
}
