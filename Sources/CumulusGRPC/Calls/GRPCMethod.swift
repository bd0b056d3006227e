// A method of the protocol at its place among the gRPC services: the path of its calls, and how
// their messages go.
//
// Made from the node's own table, so that a new method of the protocol has a path at once. Tests
// compare the list with `proto/services.proto`, from which callers generate their code.

import CumulusNode
import CumulusWire
import GRPCCore

struct GRPCMethod: Sendable {
    enum Form: Sendable {
        /// One message each way; the parts of the answer are joined.
        case whole
        /// One message there, the parts of the answer back.
        case parts
        /// Messages there, one back.
        case upload
    }

    let method: Method
    let form: Form
    /// Whether the token of a call is an operator's, unless the call says otherwise.
    let isForOperators: Bool
    let needsRequestID: Bool
    let descriptor: MethodDescriptor

    /// All that are served, by their numbers.
    static let all: [GRPCMethod] = Node.methods.map(GRPCMethod.init)

    static let package = "cumulus.v1"

    /// The services by what the names of their methods begin with.
    static let services: KeyValuePairs<String, String> = [
        "records": "Records", "zones": "Zones", "changes": "Changes", "assets": "Assets",
        "subscriptions": "Subscriptions", "feeds": "Feeds", "pushes": "Pushes",
        "sharing": "Sharing", "accounts": "Accounts", "keys": "Keys", "schema": "Schema",
        "indexes": "Indexes", "roles": "Roles", "webApps": "WebApps", "operator": "Operators",
    ]

    /// Methods whose callers name a few records, and get one message with all of them.
    private static let joined: Set<Method> = [.recordsFetch, .recordsModify]

    init(_ shape: MethodShape) {
        method = shape.method
        isForOperators = shape.isForOperators
        needsRequestID = shape.needsRequestID
        if shape.takesMessages {
            form = .upload
        } else {
            let isInParts = shape.answersInParts && !GRPCMethod.joined.contains(shape.method)
            form = isInParts ? .parts : .whole
        }
        let (service, name) = GRPCMethod.place(of: "\(shape.method)")
        descriptor = MethodDescriptor(
            service: ServiceDescriptor(package: GRPCMethod.package, service: service),
            method: name,
            type: form.type
        )
    }

    /// `recordsListConflicts` is `ListConflicts` of the service `Records`.
    private static func place(of name: String) -> (service: String, name: String) {
        let found = services.first { name.hasPrefix($0.key) }
        precondition(found != nil, "the method \(name) belongs to no gRPC service")
        let rest = name.dropFirst(found?.key.count ?? 0)
        return (found?.value ?? "", String(rest))
    }
}

extension GRPCMethod.Form {
    fileprivate var type: MethodDescriptor.RPCType {
        switch self {
        case .whole: .unary
        case .parts: .serverStreaming
        case .upload: .clientStreaming
        }
    }
}
