// Server reflection: what services there are, and what their messages look like, for tools such as
// grpcurl, which then need no files.
//
// Registered by `GRPCListener`, under the name of version 1 and under the older one, which have the
// same messages. It tells what stands in `proto/`, and nothing about this node.
//
// Folder: services of gRPC that no app asks for. Read `GRPCHealth`, then `GRPCReflection` and
// `Descriptors`.

import CumulusModel
import CumulusWire
import GRPCCore

struct GRPCReflection: Sendable {
    static let services = [
        "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
    ]

    static let method = "ServerReflectionInfo"

    /// Milliseconds after which a question that waits for room for its answer looks again.
    private static let pause = Duration.milliseconds(20)

    let descriptors: Descriptors
    /// Told what the answers take; nil: nobody counts it.
    var room: GRPCRoom?

    func register<Transport>(in router: inout RPCRouter<Transport>) {
        for service in GRPCReflection.services {
            router.registerHandler(
                forMethod: MethodDescriptor(
                    fullyQualifiedService: service,
                    method: GRPCReflection.method,
                    type: .bidirectionalStreaming
                ),
                deserializer: PassingBytes(),
                serializer: PassingBytes()
            ) { request, _ in
                GRPCDoor.Response { writer in
                    try await untilTimeIsUp { try await answer(request, writer) }
                    return [:]
                }
            }
        }
    }

    /// Answers the questions of a stream, each when there is room for its answer.
    private func answer(_ request: GRPCDoor.Request, _ writer: RPCWriter<Bytes>) async throws {
        let stream = GRPCStreamGuard.number(in: request.metadata)
        for try await message in request.messages {
            let answer = try answer(message)
            while let room, !room.reserve(answer.count, for: stream) {
                try await Task.sleep(for: GRPCReflection.pause)
            }
            room?.taken(message.count, of: stream)
            try await writer.write(answer)
        }
        try Task.checkCancellation()
    }

    /// Answers one message of the stream.
    func answer(_ message: Bytes) throws(RPCError) -> Bytes {
        let asked: Question
        do {
            asked = try Question(wire: message)
        } catch {
            throw RPCError(code: .invalidArgument, message: error.message)
        }
        var answer = Answer()
        (answer.host, answer.request) = (asked.host, message)
        switch asked.about {
        case .services:
            answer.content = .services(MessageList(descriptors.services.map(ServiceName.init)))
        case .file(let name): answer.content = files(descriptors.file(named: name))
        case .symbol(let name): answer.content = files(descriptors.file(defining: name))
        case .extension, .nothing: answer.content = files(nil)
        }
        return answer.encoded()
    }

    private func files(_ found: [Bytes]?) -> Answer.Content {
        guard let found else {
            var problem = Problem()
            problem.code = UInt64(RPCError.Code.notFound.rawValue)
            problem.message = "nothing in the files of this server has that name"
            return .problem(problem)
        }
        return .files(Files(found))
    }
}

// MARK: - Messages of reflection.proto

/// `ServerReflectionRequest`.
private struct Question: WireMessage {
    enum About {
        case file(String)
        case symbol(String)
        /// Extensions, of which proto3 has none.
        case `extension`
        case services
        case nothing
    }

    var host = ""
    var about = About.nothing

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &host)
        var name = ""
        switch try coder.choice(3...7, nil) {
        case 3:
            try coder.member(3, &name)
            about = .file(name)
        case 4:
            try coder.member(4, &name)
            about = .symbol(name)
        case 7:
            try coder.member(7, &name)
            about = .services
        case nil: break
        default: about = .extension
        }
    }
}

/// `ServerReflectionResponse`.
private struct Answer: Coded {
    enum Content {
        case files(Files)
        case services(MessageList<ServiceName>)
        case problem(Problem)
    }

    var host = ""
    var request: Bytes = []
    var content = Content.problem(Problem())

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &host)
        try coder.bytes(2, &request)
        switch content {
        case .files(var files): try coder.message(4, &files)
        case .services(var services): try coder.message(6, &services)
        case .problem(var problem): try coder.message(7, &problem)
        }
    }
}

/// `FileDescriptorResponse`.
private struct Files: Coded {
    var files: [Bytes] = []

    init() {}

    init(_ files: [Bytes]) {
        self.files = files
    }

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &files)
    }
}

/// `ServiceResponse`.
private struct ServiceName: Coded {
    var name = ""

    init() {}

    init(_ name: String) {
        self.name = name
    }

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &name)
    }
}

/// `ErrorResponse`.
private struct Problem: Coded {
    var code: UInt64 = 0
    var message = ""

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &code)
        try coder.text(2, &message)
    }
}
