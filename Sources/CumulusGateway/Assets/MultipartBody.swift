// Takes the file out of a form (`multipart/form-data`) while it comes: the content of the part that
// is named `files`.
//
// Fed by `WebUpload` with what browsers' forms send. It holds a few bytes of what came, never the
// file. It is written by hand: a package for one field of one kind of form costs each build more
// than these lines.

package import CumulusModel

package struct MultipartBody: Equatable {
    private enum State: Equatable {
        /// The place before the first boundary.
        case preamble
        /// The head of a part.
        case head
        /// The content of a part.
        case content(isFile: Bool)
        /// The place behind the last boundary, or behind the file.
        case end
    }

    private var state = State.preamble
    /// Bytes that may be the beginning of a boundary, or a head that is not whole.
    private var rest: Bytes = [13, 10]
    /// The end of a part's content: a line break and the boundary.
    private let delimiter: Bytes
    private var hasFile = false

    private static let headBytes = 8 << 10
    private static let headEnd = Bytes("\r\n\r\n".utf8)

    /// - Parameter contentType: The request's content type; nil is returned if it is not a form.
    package init?(contentType: String) throws(WebError) {
        let parts = contentType.split(separator: ";")
        guard let type = parts.first, MultipartBody.trimmed(type) == "multipart/form-data" else {
            return nil
        }
        guard let boundary = MultipartBody.value(of: "boundary", in: parts.dropFirst()),
            (1...70).contains(boundary.utf8.count)
        else {
            throw .badRequest("the form's Content-Type names no boundary")
        }
        delimiter = Bytes("\r\n--\(boundary)".utf8)
    }

    /// Takes the next bytes of the body; returns the bytes that certainly belong to the file.
    package mutating func take(_ bytes: Bytes) throws(WebError) -> Bytes {
        rest += bytes
        var file: Bytes = []
        while try step(&file) {}
        return file
    }

    /// Nothing more comes.
    package func checkEnd() throws(WebError) {
        guard hasFile else {
            throw .badRequest("the form has no part that is named 'files'")
        }
        guard case .end = state else { throw .badRequest("the form ended early") }
    }

    /// Returns false if more bytes are needed.
    private mutating func step(_ file: inout Bytes) throws(WebError) -> Bool {
        switch state {
        case .preamble: return skip(to: delimiter)
        case .head:
            // Two hyphens behind a boundary end the form.
            if rest.starts(with: "--".utf8) {
                state = .end
                return true
            }
            guard let range = MultipartBody.range(of: MultipartBody.headEnd, in: rest) else {
                guard rest.count <= MultipartBody.headBytes else {
                    throw .badRequest("the head of a part of the form is too long")
                }
                return false
            }
            let head = String(decoding: rest[..<range.lowerBound], as: UTF8.self)
            let isFile = !hasFile && MultipartBody.isNamedFiles(head)
            hasFile = hasFile || isFile
            rest.removeFirst(range.upperBound)
            state = .content(isFile: isFile)
            return true
        case .content(let isFile):
            guard let range = MultipartBody.range(of: delimiter, in: rest) else {
                let known = max(0, rest.count - delimiter.count)
                if isFile { file += rest[..<known] }
                rest.removeFirst(known)
                return false
            }
            if isFile { file += rest[..<range.lowerBound] }
            rest.removeFirst(range.upperBound)
            state = isFile ? .end : .head
            return true
        case .end:
            rest = []
            return false
        }
    }

    private mutating func skip(to delimiter: Bytes) -> Bool {
        guard let range = MultipartBody.range(of: delimiter, in: rest) else {
            rest.removeFirst(max(0, rest.count - delimiter.count))
            return false
        }
        rest.removeFirst(range.upperBound)
        state = .head
        return true
    }

    /// The first place of a pattern.
    private static func range(of pattern: Bytes, in bytes: Bytes) -> Range<Int>? {
        var start = 0
        while start + pattern.count <= bytes.count {
            if bytes[start] == pattern[0], bytes[start...].starts(with: pattern) {
                return start..<start + pattern.count
            }
            start += 1
        }
        return nil
    }

    // MARK: Heads

    private static func isNamedFiles(_ head: String) -> Bool {
        head.split(separator: "\r\n").contains { line in
            let parts = line.split(separator: ";")
            guard let first = parts.first?.lowercased(), first.hasPrefix("content-disposition:")
            else { return false }
            return value(of: "name", in: parts.dropFirst()) == "files"
        }
    }

    /// The value of a parameter, without quotes.
    private static func value(of name: String, in parameters: ArraySlice<Substring>) -> String? {
        for parameter in parameters {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, trimmed(pair[0]) == name else { continue }
            let text = pair[1].drop { $0 == " " }
            guard text.first == "\"" else { return String(text.prefix { $0 != " " }) }
            return String(text.dropFirst().prefix { $0 != "\"" })
        }
        return nil
    }

    private static func trimmed(_ text: Substring) -> String {
        text.split(separator: " ").joined().lowercased()
    }
}
