// How far the fetch of a participant's changes has come, for its token.
//
//   progress = end · roots, none if they are many · digest of them · stage · root · count · path
//            · 0, or 1: done · told · last dot · last name
//   roots    = count · per root: name · birth · share
//
// See `TreeChanges` for what the stages are.

package import CumulusModel
import CumulusStorage

package struct TreeProgress: Hashable, Sendable {
    package enum Stage: UInt8, Sendable {
        /// The walk below roots that the caller sees since the token.
        case gained = 0
        /// The walk below roots that the caller no longer sees.
        case lost = 1
        /// The changed records, and the records below them.
        case changed = 2
    }

    /// Where the fetch ends: the vector and the roots of its first page.
    package var end: VersionVector
    package var roots: [ChangeToken.Root]
    /// The digest of the roots, which are left out of a token if they are many.
    private let digest: UInt64
    package var stage = Stage.gained
    /// The root that is walked now, or was walked last.
    package var root = ""
    /// The path from the root to the last record that was looked at; empty if none was.
    package var path: [String] = []
    /// Whether everything below that record was looked at, too.
    package var isDone = false
    package var changes: ChangeProgress

    package init(end: VersionVector, roots: [ChangeToken.Root], told: VersionVector) {
        self.end = end
        self.roots = roots
        digest = ViewDigest.roots(roots)
        changes = ChangeProgress(told: told)
    }

    /// Puts the roots in that were left out; nil if the roots are different now.
    ///
    /// - Parameter present: The roots that are seen now.
    func completed(by present: [ChangeToken.Root]) -> TreeProgress? {
        guard roots.isEmpty else { return self }
        var progress = self
        progress.roots = present
        return ViewDigest.roots(present) == digest ? progress : nil
    }

    func write(to writer: inout CanonicalWriter) {
        writer.vector(end)
        let isMany = roots.count > ChangeToken.Root.most
        ChangeToken.Root.write(isMany ? [] : roots, to: &writer)
        writer.bigEndian(digest)
        writer.varint(UInt64(stage.rawValue))
        writer.delimited(root.utf8)
        writer.varint(UInt64(path.count))
        for name in path { writer.delimited(name.utf8) }
        writer.varint(isDone ? 1 : 0)
        changes.write(to: &writer)
    }

    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        end = try reader.vector()
        roots = try ChangeToken.Root.read(&reader)
        digest = try reader.bigEndian()
        let number = try reader.count(limit: Int(UInt8.max))
        guard let stage = Stage(rawValue: UInt8(number)) else {
            throw MalformedBytes("progress of an unknown stage")
        }
        self.stage = stage
        root = try reader.text()
        path = try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
            try reader.text()
        }
        isDone = try reader.varint() != 0
        changes = try ChangeProgress(reading: &reader)
    }
}

extension ChangeToken {
    /// A root that a participant sees.
    package struct Root: Hashable, Sendable {
        package var name: String
        package var birth: Dot
        /// The name of the share's record.
        package var share: String

        package init(name: String, birth: Dot, share: String) {
            self.name = name
            self.birth = birth
            self.share = share
        }

        /// The most roots that a token names; more of them would make it too large.
        static let most = 200

        static func write(_ roots: [Root], to writer: inout CanonicalWriter) {
            writer.varint(UInt64(roots.count))
            for root in roots {
                writer.delimited(root.name.utf8)
                writer.dot(root.birth)
                writer.delimited(root.share.utf8)
            }
        }

        static func read(_ reader: inout CanonicalReader) throws(MalformedBytes) -> [Root] {
            try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
                Root(name: try reader.text(), birth: try reader.dot(), share: try reader.text())
            }
        }
    }
}

extension ChangeProgress {
    func write(to writer: inout CanonicalWriter) {
        writer.vector(told)
        writer.dot(last?.dot ?? Dot(Incarnation(0), 0))
        writer.delimited((last?.name ?? "").utf8)
    }

    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        let told = try reader.vector()
        let position = ChangeProgress.Position(dot: try reader.dot(), name: try reader.text())
        self.init(told: told, last: position.dot.seq == 0 ? nil : position)
    }
}
