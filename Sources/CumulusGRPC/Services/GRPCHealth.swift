// The health service that load balancers and `grpc_health_probe` ask: `grpc.health.v1.Health`.
//
// Registered by `GRPCListener`. It needs no token: all that it tells is whether the node is ready,
// as /readyz does over HTTP.

import CumulusModel
import CumulusNode
import CumulusWire
import GRPCCore

struct GRPCHealth: Sendable {
    static let service = "grpc.health.v1.Health"
    /// How soon a watcher is told of a change, in milliseconds.
    private static let pause: Int64 = 1_000

    /// `ServingStatus` of the service's own definition.
    private enum Status: UInt64 {
        case serving = 1
        case notServing = 2
        case serviceUnknown = 3
    }

    let node: Node

    func register<Transport>(in router: inout RPCRouter<Transport>) {
        add("Check", .unary, to: &router) { request in
            guard let found = try await status(for: request) else {
                throw RPCError(code: .notFound, message: "there is no such service")
            }
            return GRPCDoor.Response(
                single: ServerResponse(message: HealthAnswer(found).encoded())
            )
        }
        add("Watch", .serverStreaming, to: &router) { request in
            let asked = try await HealthRequest.first(of: request)
            return GRPCDoor.Response { writer in
                try await untilTimeIsUp { try await watch(asked, writer) }
                return [:]
            }
        }
    }

    private func add<Transport>(
        _ name: String,
        _ type: MethodDescriptor.RPCType,
        to router: inout RPCRouter<Transport>,
        _ answer: @escaping @Sendable (GRPCDoor.Request) async throws -> GRPCDoor.Response
    ) {
        router.registerHandler(
            forMethod: MethodDescriptor(
                fullyQualifiedService: GRPCHealth.service,
                method: name,
                type: type
            ),
            deserializer: PassingBytes(),
            serializer: PassingBytes()
        ) { request, _ in try await answer(request) }
    }

    /// Tells the status now, and each time that it changes, until the node goes.
    private func watch(_ asked: HealthRequest, _ writer: RPCWriter<Bytes>) async throws {
        var told: UInt64?
        while true {
            let status = status(of: asked.service) ?? .serviceUnknown
            if status.rawValue != told {
                told = status.rawValue
                try await writer.write(HealthAnswer(status.rawValue).encoded())
            }
            guard !node.isDraining else {
                throw RPCError(code: .unavailable, message: "this node is shutting down")
            }
            try await node.environment.sleep(GRPCHealth.pause)
        }
    }

    private func status(for request: GRPCDoor.Request) async throws -> UInt64? {
        status(of: try await HealthRequest.first(of: request).service)?.rawValue
    }

    /// - Parameter service: Empty: all of them.
    private func status(of service: String) -> Status? {
        let prefix = GRPCMethod.package + "."
        let isOurs = GRPCMethod.services.contains { prefix + $0.value == service }
        guard service.isEmpty || isOurs else { return nil }
        return node.state == "ready" ? .serving : .notServing
    }
}

/// `HealthCheckRequest`.
private struct HealthRequest: WireMessage {
    var service = ""

    /// The first message of a call.
    static func first(of request: GRPCDoor.Request) async throws -> HealthRequest {
        try await untilTimeIsUp {
            for try await message in request.messages {
                do throws(MalformedMessage) {
                    return try HealthRequest(wire: message)
                } catch {
                    throw RPCError(code: .invalidArgument, message: error.message)
                }
            }
            try Task.checkCancellation()
            return HealthRequest()
        }
    }

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &service)
    }
}

/// `HealthCheckResponse`.
private struct HealthAnswer: Coded {
    var status: UInt64 = 0

    init() {}

    init(_ status: UInt64) {
        self.status = status
    }

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &status)
    }
}
