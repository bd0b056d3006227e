// What nodes of one cluster say to each other.
//
// `peers.proto`. Commits travel as the bytes that their origin made, and are not looked into here.
//
// Folder: the messages between nodes. Read `Peers+Wire`, then `State+Wire`.

import CCumulusWire
package import CumulusModel

package struct PullRequest: Hashable, Sendable {
    /// What the caller has.
    package var vector: VersionVector
    /// The caller's incarnation: it has all commits of it.
    package var run: UInt64
    /// Incarnations whose commits the caller takes from their own nodes; ascending.
    package var elsewhere: [UInt64]

    package init(vector: VersionVector, run: UInt64 = 0, elsewhere: [UInt64] = []) {
        self.vector = vector
        self.run = run
        self.elsewhere = elsewhere
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.vector(1, vector)
        writer.field(2, fixed64: run)
        if !elsewhere.isEmpty {
            var packed = CanonicalWriter()
            for run in elsewhere { packed.fixed64(run) }
            writer.present(3, bytes: packed.bytes)
        }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__pull_request__unpack)
        run = message.raw.run
        elsewhere = Array(elements(message.raw.n_elsewhere, message.raw.elsewhere))
        vector = VersionVector(wire: elements(message.raw.n_vector, message.raw.vector))
    }
}

package struct PullResponse: Hashable, Sendable {
    package var commits: [Bytes]
    /// What the server has; after the first response, what it has of the incarnations that it need
    /// not send.
    package var vector: VersionVector
    /// Somebody waits until the caller holds it durably, and says so.
    package var wantsReport: Bool

    package init(commits: [Bytes], vector: VersionVector, wantsReport: Bool = false) {
        self.commits = commits
        self.vector = vector
        self.wantsReport = wantsReport
    }

    package func encoded() -> Bytes {
        let size = commits.reduce(256) { $0 + $1.count + 8 }
        var writer = CanonicalWriter(reserving: size)
        for commit in commits { writer.present(1, bytes: commit) }
        writer.vector(2, vector)
        writer.field(3, varint: wantsReport ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__pull_response__unpack)
        let raw = message.raw
        wantsReport = raw.wants_report != 0
        commits = elements(raw.n_commits, raw.commits).map(\.swiftBytes)
        vector = VersionVector(wire: elements(raw.n_vector, raw.vector))
    }
}

package struct ReportRequest: Hashable, Sendable {
    /// What the caller holds durably.
    package var vector: VersionVector
    /// It was asked for; the server need not keep it.
    package var isAnswer: Bool
    /// Of all records at that vector, 16 bytes; empty: not told.
    package var digest: Bytes
    /// The sender's clock, in milliseconds since 1970 UTC; 0: it is wrong.
    package var time: Int64

    package init(
        vector: VersionVector,
        isAnswer: Bool = false,
        digest: Bytes = [],
        time: Int64
    ) {
        self.vector = vector
        self.isAnswer = isAnswer
        self.digest = digest
        self.time = time
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.vector(1, vector)
        writer.field(2, varint: isAnswer ? 1 : 0)
        writer.field(3, bytes: digest)
        writer.field(4, signed: time)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__report_request__unpack)
        vector = VersionVector(wire: elements(message.raw.n_vector, message.raw.vector))
        isAnswer = message.raw.is_answer != 0
        digest = message.raw.digest.swiftBytes
        time = message.raw.time
    }
}

extension VersionVector {
    /// Of entries that name one incarnation, the last one counts.
    init(wire entries: [Cumulus__V1__VectorEntry]) {
        self.init()
        for entry in entries { self[Incarnation(entry.incarnation)] = entry.seq }
    }
}

extension CanonicalWriter {
    mutating func vector(_ field: Int, _ vector: VersionVector) {
        for dot in vector.dots {
            message(field) { writer in
                writer.field(1, fixed64: dot.incarnation.value)
                writer.field(2, varint: dot.seq)
            }
        }
    }
}
