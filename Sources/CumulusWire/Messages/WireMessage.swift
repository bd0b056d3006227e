// What the messages of all families are made of: how they are read, and the forms that many share.
//
// A message is a struct whose `code` says its format, under the name that it has in proto/. The
// client and other nodes read it by the tolerant reader; callers' requests are read by
// CumulusRequests, with libprotobuf-c.
//
// Folder: what all messages share: forms, values, errors and the greeting. Read `WireMessage`, then
// `Values+Wire` and `Hello+Wire`.

package import CumulusModel

/// A message can't be decoded.
///
/// What to do about it depends on where it stood.
package struct MalformedMessage: Error, Equatable, Sendable {
    package let message: String

    package init(message: String) {
        self.message = message
    }
}

/// A message that servers answer with, or that nodes send each other.
package protocol WireMessage: Coded {
    /// Bytes of memory that each byte of it may take.
    static var growth: Int { get }
}

extension WireMessage {
    // In a list of locations, two bytes may stand for one.
    package static var growth: Int { 128 }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        do {
            try self.init(tolerant: bytes, growth: Self.growth)
        } catch {
            throw MalformedMessage(message: "the message can't be read: \(error.reason)")
        }
    }
}

// MARK: - Forms

/// A message that holds a list of others, in field 1, and nothing else.
package struct MessageList<Element: Coded>: WireMessage {
    package var elements: [Element] = []

    package init() {}

    package init(_ elements: some Sequence<Element>) {
        self.elements = Array(elements)
    }

    package var roughCount: Int { 64 * (elements.count + 1) }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &elements)
    }
}

/// A message that holds bytes, in field 1, and nothing else, such as a token.
package struct BytesMessage: WireMessage, Hashable {
    package var bytes: Bytes = []

    package init() {}

    package init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    package var roughCount: Int { bytes.count + 8 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &bytes)
    }
}

/// A message that holds a flag, in field 1, and nothing else.
package struct FlagMessage: WireMessage, Hashable {
    package var flag = false

    package init() {}

    package init(_ flag: Bool) {
        self.flag = flag
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.flag(1, &flag)
    }
}

// Requests are no `WireMessage`s: callers' requests are not read by the tolerant reader.

/// A request that holds bytes, in field 1, and nothing else: a name, a URL, an id.
package struct BytesRequest: Coded, Hashable {
    package var bytes: Bytes = []

    package init() {}

    package init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &bytes)
    }
}

/// A request that holds a flag, in field 1, and nothing else.
package struct FlagRequest: Coded, Hashable {
    package var flag = false

    package init() {}

    package init(_ flag: Bool) {
        self.flag = flag
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.flag(1, &flag)
    }
}

/// A message that holds texts, in field 1, and nothing else.
package struct TextsMessage: WireMessage, Hashable {
    package var texts: [String] = []

    package init() {}

    package init(_ texts: some Sequence<String>) {
        self.texts = Array(texts)
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &texts)
    }
}

/// A message without fields.
package struct EmptyMessage: WireMessage, Hashable {
    package init() {}

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {}
}

// MARK: - Results of items

/// What became of an item: a value in field 1, or an error in field 2.
package enum WireResult<Value: Coded>: Coded {
    case value(Value)
    case error(WireStatus)
    case none

    package init() { self = .none }

    /// - Parameter result: Its error is without a record.
    package init(_ result: Result<Value, ServiceError>) {
        switch result {
        case .success(let value): self = .value(value)
        case .failure(let error): self = .error(WireStatus(error))
        }
    }

    private var number: Int? {
        switch self {
        case .value: 1
        case .error: 2
        case .none: nil
        }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        switch try coder.choice(1...2, number) {
        case 1:
            var value = if case .value(let value) = self { value } else { Value() }
            try coder.member(1, &value)
            self = .value(value)
        case 2:
            var status = if case .error(let status) = self { status } else { WireStatus() }
            try coder.member(2, &status)
            self = .error(status)
        default: break
        }
    }

    /// The result of a client's item.
    package func result<Item>(_ item: (Value) -> Item?) -> Result<Item, ServiceError> {
        switch self {
        case .value(let value):
            if let item = item(value) { return .success(item) }
        case .error(let status): return .failure(ServiceError(status))
        case .none: break
        }
        return .failure(ServiceError(.internalError, "the server's answer holds an empty result"))
    }
}

/// What became of an item that has no value: nothing, or an error.
package struct WireOutcome: Coded {
    package var error: WireStatus?

    package init() {}

    package init(_ error: ServiceError?) {
        self.error = error.map { WireStatus($0) }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.message(1, &error)
    }
}

// MARK: - Parts

/// A part of a message that the node has encoded already and copies, and that a reader takes apart.
package enum Embedded<Message: Coded>: Coded {
    case encoded(Bytes)
    case whole(Message)

    package init() { self = .whole(Message()) }

    package var exactCount: Int? {
        if case .encoded(let bytes) = self { bytes.count } else { nil }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        guard case .whole(var message) = self else {
            preconditionFailure("only a writer meets what is encoded")
        }
        try message.code(&coder)
        self = .whole(message)
    }

    package func write(to writer: inout CanonicalWriter) {
        switch self {
        case .encoded(let fields): writer.raw(fields)
        case .whole(let message): message.write(to: &writer)
        }
    }

    /// What was read.
    package var message: Message? {
        if case .whole(let message) = self { message } else { nil }
    }
}

extension Coder {
    /// Wanted fields: a flag that there is a choice, and their names.
    mutating func keys(
        _ keys: inout [Bytes]?,
        flag: Int,
        list: Int
    ) throws(MalformedBytes) {
        var isChoice = keys != nil
        try self.flag(flag, &isChoice)
        var names = keys ?? []
        try self.list(list, &names)
        if Self.reads { keys = isChoice ? names : nil }
    }
}
