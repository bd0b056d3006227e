// The audit log: who came in, who was refused, and what operators did, a line of JSON for each.
//
// It is written where calls end (`Auditing`), and the environment keeps it: `cumulusd` has
// `AuditFiles`. Refusals are kept apart from acts: any caller can be refused, as often as it likes,
// and no act of an operator must give way to that.
//
// A line holds names, numbers and codes, and neither secrets nor what is in records. It says at
// which epoch of the accounts its caller was judged, so it tells what the node knew by then.
//
// Folder: what a node writes down about access. Read `AuditLog`, then `Auditing`,
// `RefusalLines`, `AuditFiles` and `SchemaDifference+Audit`.

import CumulusModel
import CumulusWire
import Synchronization

final class AuditLog: Sendable {
    /// Acts of one caller that are kept per second, and at once after a rest.
    ///
    /// All acts of operators are kept. `RefusalLines` counts refusals.
    static let linesPerSecond = 10
    /// Callers that are told apart; the others are sampled together.
    private static let capacity = 1_000

    private let keep: @Sendable (Bytes) -> Void
    private let keepRefusal: @Sendable (Bytes) -> Void
    private let callers: Mutex<Callers>
    private let refusals: Mutex<RefusalLines>

    fileprivate struct Callers {
        var entries: [String: Entry] = [:]
        /// The time of the next search for entries that can be forgotten.
        var nextLook: Instant
    }

    fileprivate struct Entry {
        var bucket: TokenBucket
        var leftOut = 0
    }

    /// - Parameter keepRefusal: Keeps a line about a refusal; nil means as any other line.
    init(
        now: Instant,
        keepRefusal: (@Sendable (Bytes) -> Void)? = nil,
        _ keep: @escaping @Sendable (Bytes) -> Void
    ) {
        self.keep = keep
        self.keepRefusal = keepRefusal ?? keep
        callers = Mutex(Callers(nextLook: now))
        refusals = Mutex(RefusalLines(now: now))
    }

    /// Keeps a line, unless there are too many of its caller, or of refusals of its network.
    ///
    /// - Parameter caller: The key by which lines are limited; nil means that all are kept.
    func note(_ line: AuditLine, of caller: String?, now: Instant) {
        if line.isRefusal { return noteRefusal(line, now: now) }
        var line = line
        if let caller {
            guard let leftOut = admit(caller, now: now) else { return }
            line.leftOut = leftOut
        }
        keep(line.json)
    }

    private func noteRefusal(_ line: AuditLine, now: Instant) {
        let network = CallerNetwork.of(line.address).hex
        let lines = refusals.withLock {
            $0.add(line, of: network.isEmpty ? line.id : network, now: now)
        }
        for line in lines { keepRefusal(line.json) }
    }

    /// Writes down how many refusals were left out in minutes that are over.
    func tellLeftOut(now: Instant) {
        for line in refusals.withLock({ $0.takeEnded(now: now) }) { keepRefusal(line.json) }
    }

    /// How many lines of a caller were left out since the last one; nil if this one is, too.
    private func admit(_ caller: String, now: Instant) -> Int? {
        callers.withLock { callers in
            let key = callers.key(for: caller, capacity: AuditLog.capacity, now: now)
            var entry =
                callers.entries[key]
                ?? Entry(
                    bucket: TokenBucket(
                        rate: AuditLog.linesPerSecond,
                        burst: AuditLog.linesPerSecond,
                        now: now
                    )
                )
            defer { callers.entries[key] = entry }
            guard entry.bucket.wait(for: 1, now: now) == 0 else {
                entry.leftOut += 1
                return nil
            }
            entry.bucket.spend(1)
            defer { entry.leftOut = 0 }
            return entry.leftOut
        }
    }
}

extension AuditLog.Callers {
    /// The caller, or the empty name if there is no room for it.
    fileprivate mutating func key(for caller: String, capacity: Int, now: Instant) -> String {
        if entries[caller] != nil || entries.count < capacity { return caller }
        guard now >= nextLook else { return "" }
        nextLook = now + 1_000
        entries = entries.filter { _, entry in
            var bucket = entry.bucket
            return entry.leftOut > 0 || !bucket.isFull(now: now)
        }
        return entries.count < capacity ? caller : ""
    }
}

/// The content of a line.
struct AuditLine: Sendable {
    /// Milliseconds since 1970 UTC.
    var time: Int64
    /// `anonymous`, `operator`, `peer`, `server` or `user`.
    var role: String
    /// Id of the user, the service key or the node, hexadecimal; empty for others.
    var id = ""
    /// The caller's address: 4 or 16 bytes, or empty.
    var address: Bytes = []
    /// The method's name in the protocol; HELLO for a caller who was refused in the greeting.
    var method: String
    var container = ""
    /// The object of the call: a user, a role, a record.
    var target = ""
    /// The error's code; 0 means success.
    var code: UInt32 = 0
    /// Id of the trace that the caller named; empty if it named none.
    var trace = ""
    /// The epoch of the accounts in which the caller was judged.
    var epoch: UInt64
    /// Number of this caller's earlier lines that were left out; for a refusal, the lines of its
    /// network.
    var leftOut = 0

    /// Whether nothing was done.
    ///
    /// Lines of operators are acts, however they end. A user's call whose answer was lost may have
    /// been done; a stranger's has let nobody in.
    var isRefusal: Bool {
        if code == 0 || role == "operator" { return false }
        return role == "anonymous" || code != ServiceError.Code.serverResponseLost.rawValue
    }

    /// One line, with its end.
    var json: Bytes {
        var text = "{\"time\":\(time),\"caller\":\"\(role)\""
        func add(_ key: String, _ value: String) {
            if !value.isEmpty { text += ",\"\(key)\":\(AuditLine.quoted(value))" }
        }
        add("id", id)
        add("address", AuditLine.text(of: address))
        add("method", method)
        add("container", container)
        add("target", target)
        add("trace", trace)
        text += ",\"code\":\(code),\"epoch\":\(epoch)"
        if leftOut > 0 { text += ",\"leftOut\":\(leftOut)" }
        return Bytes((text + "}\n").utf8)
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case ..<" ", "\u{7F}":
                let hex = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func text(of address: Bytes) -> String {
        guard address.count == 16 else { return address.map(String.init).joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2).map { index in
            let group = UInt16(address[index]) << 8 | UInt16(address[index + 1])
            return String(group, radix: 16)
        }.joined(separator: ":")
    }
}
