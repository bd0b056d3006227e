// The calls on operators of the cluster: who has a token that every node takes.
//
// `MethodTable` lists them.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusWire

enum OperatorTokenCalls {
    static let methods: [MethodEntry] = [
        .init(
            .operatorListOperators,
            .parts,
            .operator,
            parse: unread,
            read: list,
            encode: { operators, _ in ListOperatorsResponse(operators).encoded() }
        ),
        .init(
            .operatorAddOperator,
            .message,
            .act,
            parse: decoded { try AddOperatorRequest(wire: $0).bytes },
            change: add,
            encode: oneMessage { AddOperatorResponse($0).encoded() }
        ),
        .init(
            .operatorRemoveOperator,
            .message,
            .act,
            parse: decoded { try RemoveOperatorRequest(wire: $0).bytes },
            change: remove,
            encode: oneMessage { _ in RemoveOperatorResponse().encoded() }
        ),
    ]

    private static func list(
        _: Void,
        _ context: CallContext
    ) -> Reading<ArraySlice<WireOperator>>? {
        .onDisk(in: .cluster) { context in
            let operators = try Operators.all(in: context.reader)
            return Part(
                list: operators.map { WireOperator(name: $0.name, created: $0.created) }[...]
            )
        }
    }

    private static func add(_ raw: Bytes, _ context: CallContext) throws -> AddOperator {
        let name = try name(raw, context)
        var dice = NodeDice(context.node.environment)
        return AddOperator(name, token: dice.accessToken())
    }

    private static func remove(_ raw: Bytes, _ context: CallContext) throws -> RemoveOperator {
        RemoveOperator(try name(raw, context))
    }

    private static func name(_ raw: Bytes, _ context: CallContext) throws -> String {
        let name = try Names.checkIdentifier(raw[...], "operator's name")
        context.concerns(name)
        return name
    }
}
