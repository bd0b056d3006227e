// The node's audit log in the console, newest first and a page at a time.
//
// Read from the files of the answering node: each node has a log of its own. Lines hold names,
// numbers and codes, and no secrets.

import CumulusModel

extension ConsoleCall {
    private static let mostAuditLines = 500

    /// The lines that satisfy a filter.
    ///
    /// `outcome` is `done` or `refused`, `method` the name of a method of the protocol, and `text`
    /// a part of a line, in any case; each may be left out. `cursor` is that of the page before.
    func audit() async throws -> ConsoleReply {
        try await checkOperator()
        let filter = try AuditFilter(values)
        let limit = min(try values.count("limit") ?? 100, ConsoleCall.mostAuditLines)
        let start = try values.string("cursor").map { try AuditPlace(cursor: $0) } ?? AuditPlace()
        var (place, last) = (AuditPlace(), AuditPlace())
        var lines: [JSON] = []
        var hasMore = false
        for (time, line) in ConsoleCall.timed(sources.auditLines?() ?? []).reversed() {
            place.go(to: time)
            guard place > start, let found = filter.admitted(line) else { continue }
            hasMore = lines.count == limit
            if hasMore { break }
            lines.append(ConsoleCall.explained(found))
            last = place
        }
        var members: [JSON.Member] = [
            .init("isKept", .bool(sources.auditLines != nil)), .init("lines", .array(lines)),
        ]
        if hasMore { members.append(.init("cursor", .string(last.cursor))) }
        return .json(members)
    }

    /// The backups that this node made, newest first, as far back as its audit log goes.
    func backups() async throws -> ConsoleReply {
        try await checkOperator()
        let made = (sources.auditLines?() ?? []).reversed().lazy
            .compactMap { try? JSONReader.read($0) }
            .filter { $0["method"] == "OPERATOR_BACK_UP" }
            .prefix(ConsoleCall.mostAuditLines).map(ConsoleCall.explained)
        return .json([
            .init("isKept", .bool(sources.auditLines != nil)),
            .init("backups", .array(Array(made))),
        ])
    }

    /// The lines with their times; a report of lost lines has the time of the line before it.
    private static func timed(_ lines: [Bytes]) -> [(time: Int64, line: Bytes)] {
        var time: Int64 = 0
        return lines.map { line in
            // A line begins with its time, so the rest need not be read.
            let digits = line.drop { !(0x30...0x39).contains($0) }
                .prefix { (0x30...0x39).contains($0) }
            if line.starts(with: Bytes("{\"time\":".utf8)) {
                time = Int64(String(decoding: digits, as: UTF8.self)) ?? time
            }
            return (time, line)
        }
    }

    /// A line with the name of its code.
    static func explained(_ line: JSON) -> JSON {
        guard case .object(let members) = line else { return line }
        var reason = ""
        if case .integer(let number)? = line["code"], number != 0, let raw = UInt32(exactly: number)
        {
            reason = ServiceError.Code(rawValue: raw).map { "\($0)" } ?? "\(number)"
        }
        return .object(members + [.init("reason", .string(reason))])
    }
}

/// What lines of an audit log have to have.
private struct AuditFilter {
    private let isRefused: Bool?
    private let method: String?
    private let text: String?

    init(_ values: WebObject) throws(WebError) {
        switch try values.string("outcome") {
        case nil: isRefused = nil
        case "done": isRefused = false
        case "refused": isRefused = true
        default: throw .badRequest("'outcome' must be done or refused")
        }
        method = try values.string("method")
        text = try values.string("text")?.lowercased()
    }

    /// The line, if it satisfies the filter and can be read.
    func admitted(_ line: Bytes) -> JSON? {
        if let text, !String(decoding: line, as: UTF8.self).lowercased().contains(text) {
            return nil
        }
        guard let json = try? JSONReader.read(line) else { return nil }
        if let method, json["method"] != .string(method) { return nil }
        if let isRefused, (json["code"] != .integer(0)) != isRefused { return nil }
        return json
    }
}

/// How far a list of an audit log has come: so many lines of a time, and all of later times.
private struct AuditPlace: Comparable {
    private var time = Int64.max
    private var count = 0

    init() {}

    init(cursor: String) throws(WebError) {
        let parts = cursor.split(separator: "-")
        guard parts.count == 2, let time = Int64(parts[0]), let count = Int(parts[1]) else {
            throw .badRequest("'cursor' must be one that the console gave")
        }
        (self.time, self.count) = (time, count)
    }

    var cursor: String { "\(time)-\(count)" }

    /// Goes on to the next line, which is of this time.
    mutating func go(to time: Int64) {
        count = time == self.time ? count + 1 : 1
        self.time = time
    }

    /// The list begins with the latest time.
    static func < (one: AuditPlace, other: AuditPlace) -> Bool {
        (other.time, one.count) < (one.time, other.count)
    }
}
