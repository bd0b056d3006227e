// The forms of methods: one reads, one changes something, one is answered in a way of its own. A
// form parses the message of a call, passes the handler a value, and encodes the value that the
// handler answers with.
//
// The families of calls use them in their lists of methods. hot: once per call.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

// MARK: Messages

/// Reads a message, and judges what it names.
typealias Parse<Request> = @Sendable (RequestParser) -> (Bytes) throws -> Request

/// Reads a message that its handler judges.
func decoded<Request>(
    _ decode: @escaping @Sendable (Bytes) throws -> Request
) -> Parse<Request> {
    { _ in decode }
}

/// Leaves a message unread, because it says nothing.
let unread: Parse<Void> = { _ in { _ in } }

extension MethodEntry {
    /// Refuses callers before their message, which may be large, is read.
    typealias Admit = @Sendable (CallContext) throws -> Void

    /// A method that is answered in a way of its own.
    init<Request: Sendable>(
        _ method: Method,
        _ answer: Answer,
        _ needs: Needs = [],
        takesMessages: Bool = false,
        takesCommits: Bool = false,
        admit: @escaping Admit = { _ in },
        parse: @escaping Parse<Request>,
        begin: @escaping @Sendable (Request, CallContext) throws -> Void
    ) {
        // Nodes and operators send nothing that takes long to read.
        let isTrusted = needs.contains(.peer) || needs.contains(.operator)
        self.init(
            method,
            answer,
            needs,
            takesMessages: takesMessages,
            takesCommits: takesCommits
        ) { context in
            try admit(context)
            if isTrusted { return try begin(try parse(context.parser)(context.message), context) }
            try context.parsing(parse) { try begin($0, context) }
        }
    }
}

// MARK: - Reads

/// A part of an answer as a value, and how to read the one after it.
struct Part<Content: Sendable>: Sendable {
    /// The value; nil means that a turn on a reader thread found nothing to tell yet.
    let content: Content?
    var next: (@Sendable () throws -> Part)?
    /// An item of it that the caller had no right to.
    var refused: RefusedItem?

    init(_ content: Content?, next: (@Sendable () throws -> Part)? = nil) {
        self.content = content
        self.next = next
    }

    /// A turn that did not finish a part.
    static func unfinished(_ next: @escaping @Sendable () throws -> Part) -> Part {
        Part(nil, next: next)
    }

    /// A list that is in memory, in as many parts as it takes: a frame holds so many items of any
    /// kind.
    init<Item>(list: ArraySlice<Item>, perPart count: Int = 1_000)
    where Content == ArraySlice<Item> {
        let rest = list.dropFirst(count)
        self.init(list.prefix(count))
        if !rest.isEmpty { next = { Part(list: rest, perPart: count) } }
    }

    func page(_ outlet: Outlet<Content>, _ node: Node) -> Page {
        var page = Page(message: [])
        if let content { outlet.put(content, in: &page, node) } else { page.isSilent = true }
        if let next { page.next = { try next().page(outlet, node) } }
        page.refused = refused
        return page
    }
}

/// How parts of an answer leave: as messages, or as values for a caller in this process.
enum Outlet<Content: Sendable>: Sendable {
    case messages(Encoding<Content>)
    case values(ValueSink<Content>)

    fileprivate func put(_ content: Content, in page: inout Page, _ node: Node) {
        switch self {
        case .messages(let encode): page.message = MessagePieces(encode(content, node))
        case .values(let sink): page.value = sink.part(content)
        }
    }
}

/// Makes a message of a part; on the thread that read it.
typealias Encoding<Content> = @Sendable (Content, Node) -> Bytes

/// What a call reads, and where.
struct Reading<Content: Sendable>: Sendable {
    /// The scope that is read; nil means the call's.
    let scope: ScopeID?
    /// Whether it is tried at once with what is in memory.
    let triesMemory: Bool
    let first: @Sendable (ReadContext) throws -> Part<Content>

    static func inMemory(
        _ first: @escaping @Sendable (ReadContext) throws -> Part<Content>
    ) -> Reading {
        Reading(scope: nil, triesMemory: true, first: first)
    }

    static func onDisk(
        in scope: ScopeID? = nil,
        _ first: @escaping @Sendable (ReadContext) throws -> Part<Content>
    ) -> Reading {
        Reading(scope: scope, triesMemory: false, first: first)
    }
}

extension MethodEntry {
    /// A method that reads.
    ///
    /// - Parameter read: Returns what is to be read; nil means that the call begins again later.
    init<Request: Sendable, Content: Sendable>(
        _ method: Method,
        _ answer: Answer,
        _ needs: Needs = [],
        admit: @escaping Admit = { _ in },
        parse: @escaping Parse<Request>,
        read: @escaping @Sendable (Request, CallContext) throws -> Reading<Content>?,
        encode: @escaping Encoding<Content>
    ) {
        self.init(method, answer, needs, admit: admit, parse: parse) { request, context in
            guard let reading = try read(request, context) else { return }
            try context.answer(reading, .messages(encode))
        }
    }
}

// MARK: - Changes

/// Makes the messages of an answer of what became of a change; on the loop.
typealias OutcomeEncoding<Outcome, Request> =
    @Sendable (Outcome, Request, CallContext) -> [Bytes]

/// An answer of one message, which says nothing but the outcome.
func oneMessage<Outcome, Request>(
    _ encode: @escaping @Sendable (Outcome) -> Bytes
) -> OutcomeEncoding<Outcome, Request> {
    { outcome, _, _ in [encode(outcome)] }
}

extension MethodEntry {
    /// A method that changes records.
    init<Request: Sendable>(
        _ method: Method,
        _ answer: Answer,
        _ needs: Needs = [],
        admit: @escaping Admit = { _ in },
        parse: @escaping Parse<Request>,
        write: @escaping @Sendable (Request, CallContext) throws -> ModifyRecords,
        encode: @escaping OutcomeEncoding<ModifyOutcome, Request>
    ) {
        self.init(method, answer, needs, admit: admit, parse: parse) { request, context in
            let change = try write(request, context)
            try context.write(change) { encode($0, request, context) }
        }
    }

    /// A method that makes another change that is remembered.
    init<Request: Sendable, Asked: RememberedChange>(
        _ method: Method,
        _ answer: Answer,
        _ needs: Needs = [],
        parse: @escaping Parse<Request>,
        write: @escaping @Sendable (Request, CallContext) throws -> Asked,
        encode: @escaping OutcomeEncoding<ModifyOutcome, Request>
    ) where Asked.Outcome == ModifyOutcome {
        self.init(method, answer, needs, parse: parse) { request, context in
            let change = try write(request, context)
            try context.write(change) { encode($0, request, context) }
        }
    }

    /// A method that changes something in an environment of a container.
    init<Request: Sendable, Asked: ContainerChange>(
        _ method: Method,
        _ answer: Answer,
        _ needs: Needs = [],
        parse: @escaping Parse<Request>,
        change: @escaping @Sendable (Request, CallContext) throws -> Asked,
        encode: @escaping OutcomeEncoding<Asked.Outcome, Request>
    ) {
        self.init(method, answer, needs, parse: parse) { request, context in
            let change = try change(request, context)
            try context.change(change) { encode($0, request, context) }
        }
    }

    /// A method that changes something in the cluster's own scope.
    init<Request: Sendable, Asked: ClusterChange>(
        _ method: Method,
        _ answer: Answer,
        _ needs: Needs = [],
        admit: @escaping Admit = { _ in },
        parse: @escaping Parse<Request>,
        change: @escaping @Sendable (Request, CallContext) throws -> Asked,
        encode: @escaping OutcomeEncoding<Asked.Outcome, Request>
    ) {
        self.init(method, answer, needs, admit: admit, parse: parse) { request, context in
            let change = try change(request, context)
            context.change(change) { encode($0, request, context) }
        }
    }
}
