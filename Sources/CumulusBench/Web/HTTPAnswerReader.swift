// Reads one answer of HTTP/1.1 after the other, as they come from a socket.
//
// Used by `HTTPConnection`. It knows what servers of the bench send: a status, and a body whose
// length is said. It holds on to no bytes that have nothing to do with an answer.

struct HTTPAnswer: Equatable, Sendable {
    var status: Int
    var body: [UInt8]

    /// What the node says is wrong, with the request or with one of its records.
    var mistake: String? {
        guard status != 200 || body.place(of: HTTPAnswer.refusal) != nil else { return nil }
        return "\(status) \(String(decoding: body.prefix(500), as: UTF8.self))"
    }

    private static let refusal = [UInt8]("serverErrorCode".utf8)
}

extension [UInt8] {
    /// Where a part begins, from a place on; nil if it is not there.
    fileprivate func place(of part: [UInt8], from start: Int = 0) -> Int? {
        var place = start
        while place + part.count <= count {
            if self[place] == part[0], self[place..<place + part.count].elementsEqual(part) {
                return place
            }
            place += 1
        }
        return nil
    }
}

struct HTTPAnswerReader {
    private struct Head {
        var status: Int
        /// Bytes before the body, and with it.
        var size: Int
        var whole: Int
    }

    /// Between a head and its body.
    private static let gap: [UInt8] = [13, 10, 13, 10]
    private static let mostHeadBytes = 32 << 10
    private static let mostBodyBytes = 64 << 20
    private var bytes: [UInt8] = []
    private var head: Head?

    /// Takes the next bytes; returns the answer that they complete.
    ///
    /// - Throws: `BenchProblem` if they can't be part of an answer, or go beyond it. No bytes may
    ///   come after that.
    mutating func take(_ more: some Collection<UInt8>) throws -> HTTPAnswer? {
        let known = bytes.count
        bytes.append(contentsOf: more)
        if head == nil { head = try readHead(from: max(0, known - 3)) }
        guard let head, bytes.count >= head.whole else { return nil }
        guard bytes.count == head.whole else {
            throw BenchProblem(message: "the HTTP server sent more than one answer")
        }
        let answer = HTTPAnswer(status: head.status, body: Array(bytes[head.size...]))
        bytes.removeAll(keepingCapacity: true)
        self.head = nil
        return answer
    }

    /// nil if its end has not come.
    private func readHead(from start: Int) throws -> Head? {
        guard let gap = bytes.place(of: HTTPAnswerReader.gap, from: start) else {
            guard bytes.count <= HTTPAnswerReader.mostHeadBytes else { throw tooLong("head") }
            return nil
        }
        let end = gap + HTTPAnswerReader.gap.count
        // Lines of a head end with a line feed, behind a carriage return.
        let lines = bytes[..<end].split(separator: UInt8(ascii: "\n"))
        guard let first = lines.first, let status = HTTPAnswerReader.status(of: first) else {
            let text = String(decoding: bytes.prefix(60), as: UTF8.self)
            throw BenchProblem(message: "this is no answer of HTTP/1.1: \(text)")
        }
        guard let length = lines.dropFirst().lazy.compactMap(HTTPAnswerReader.length).first else {
            throw BenchProblem(message: "an answer of the HTTP server does not say its length")
        }
        guard length <= HTTPAnswerReader.mostBodyBytes else { throw tooLong("body") }
        return Head(status: status, size: end, whole: end + length)
    }

    private func tooLong(_ part: String) -> BenchProblem {
        BenchProblem(message: "the \(part) of an answer of the HTTP server is too long")
    }

    /// `HTTP/1.1 200 OK`.
    private static func status(of line: ArraySlice<UInt8>) -> Int? {
        let start = [UInt8]("HTTP/1.1 ".utf8)
        guard line.starts(with: start) else { return nil }
        let rest = line.dropFirst(start.count)
        guard let status = number(rest.prefix(3), digits: 3), (100..<600).contains(status),
            rest.dropFirst(3).first.map({ $0 == 32 || $0 == 13 }) == true
        else { return nil }
        return status
    }

    /// Of the line that says the body's length; nil for all others.
    private static func length(of line: ArraySlice<UInt8>) -> Int? {
        let name = "content-length:".utf8
        guard line.count > name.count,
            zip(line, name).allSatisfy({ $0 == $1 || $0 | 0x20 == $1 })
        else { return nil }
        let value = line.dropFirst(name.count).filter { $0 != 32 && $0 != 13 }
        return number(value[...], digits: 12)
    }

    private static func number(_ digits: ArraySlice<UInt8>, digits most: Int) -> Int? {
        guard !digits.isEmpty, digits.count <= most, digits.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    }
}
