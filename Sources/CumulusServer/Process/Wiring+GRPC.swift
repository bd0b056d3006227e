// The gRPC listener of the process, where a setting asks for one, and its part of the connections.
//
// Called by `Wiring`. The listener shares the node's event loops, and shows its certificate.

import CumulusDescriptors
import CumulusGRPC
import CumulusModel
import CumulusNode
import CumulusTransport
import Logging

/// gRPC while it is served.
struct ServedGRPC {
    let listener: GRPCListener
    /// Serves until it is cancelled.
    let task: Task<Void, Never>
}

extension Wiring {
    /// The address of gRPC; nil if it is not served.
    func grpc() throws -> (host: String, port: Int)? {
        let text = configuration[\.grpc.address]
        if text.isEmpty { return nil }
        guard Endpoint.split(text) != nil else {
            throw StartProblem(
                \.grpc.address,
                "'\(text)' is no address; write one such as 127.0.0.1:7490"
            )
        }
        return try address(of: \.grpc.address)
    }

    /// Finds out whether the address is free, before anything is made on the disk.
    func probeGRPC(_ address: (host: String, port: Int)?, _ loops: EventLoops) async throws {
        guard let address else { return }
        let listener = NIOFrameListener(host: address.host, port: address.port, loops: loops)
        do {
            try await listener.probe()
        } catch {
            throw cannotServeGRPC(error)
        }
    }

    /// Serves gRPC until the task that it returns is cancelled; nil without an address.
    ///
    /// - Parameter connections: More at the same time are closed; of one address a quarter of them.
    func serveGRPC(
        _ node: Node,
        at address: (host: String, port: Int)?,
        _ identity: TLSIdentity?,
        _ loops: EventLoops,
        connections: Int
    ) async throws -> ServedGRPC? {
        guard let (host, port) = address else { return nil }
        var secure: GRPCListener.Secure?
        if let identity { secure = { identity.grpc } }
        var bounds = GRPCListener.Bounds()
        bounds.connections = connections
        bounds.connectionsOfOne = min(bounds.connectionsOfOne, max(2, connections / 4))
        let listener = GRPCListener(
            node,
            descriptors: DescriptorFile.all,
            secure: secure,
            bounds: bounds
        )
        let (ports, source) = AsyncStream<Result<Int, any Error>>.makeStream()
        let task = Task { [logger] in
            do {
                try await listener.run(
                    host: host,
                    port: port,
                    on: loops.group,
                    onRefusal: RefusedConnections(logger).note
                ) {
                    source.yield(.success($0))
                }
            } catch {
                source.yield(.failure(error))
                logger.error("gRPC is not served any more", metadata: ["why": "\(error)"])
            }
            source.finish()
        }
        for await result in ports {
            switch result {
            case .success(let port):
                Wiring.say("cumulusd serves gRPC on \(host):\(port)")
                return ServedGRPC(listener: listener, task: task)
            case .failure(let error): throw cannotServeGRPC(error)
            }
        }
        return ServedGRPC(listener: listener, task: task)
    }

    private func cannotServeGRPC(_ error: any Error) -> StartProblem {
        StartProblem(
            """
            can't serve gRPC on \(configuration[\.grpc.address]): \(error); choose another \
            address with --grpc, or end what listens there
            """
        )
    }
}
