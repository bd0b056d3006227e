// The calls about lost passwords: an operator makes a link, and its bearer sets a new password.
//
// `MethodTable` lists them. They come over connections that take tokens. A link that is good for
// nobody costs no hash; attempts are counted by address like those to sign in.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum ResetCalls {
    static let methods: [MethodEntry] = [
        .init(
            .accountsMakeResetLink,
            .message,
            .act,
            admit: { _ = try SignInDesk($0) },
            parse: decoded { try MakeResetLinkRequest(wire: $0).bytes },
            change: make,
            encode: made
        ),
        .init(
            .accountsResetPassword,
            .message,
            .audit,
            admit: { _ = try SignInDesk($0) },
            parse: decoded(ResetPasswordRequest.init(wire:)),
            begin: reset
        ),
    ]

    private static func make(_ raw: Bytes, _ context: CallContext) throws -> MakeResetLink {
        let name = try Names.checkIdentifier(raw[...], "user name")
        context.concerns(name)
        var dice = NodeDice(context.node.environment)
        return MakeResetLink(user: name, secret: dice.bytes(ResetLinks.secretBytes))
    }

    private static func made(
        _ link: MakeResetLink.Outcome,
        _ raw: Bytes,
        _ context: CallContext
    ) -> [Bytes] {
        let page = context.node.configuration.resetURL
        let token = String(decoding: link.token, as: UTF8.self)
        let response = MakeResetLinkResponse(
            token: token,
            expires: link.expires,
            url: page.isEmpty ? "" : "\(page)?token=\(token)"
        )
        return [response.encoded()]
    }

    private static func reset(_ request: ResetPasswordRequest, _ context: CallContext) throws {
        let desk = try SignInDesk(context)
        // It is not proven yet that the link is the user's.
        context.concerns(ResetLinks.userID(of: request.token).map { "user \($0.hex)" } ?? "")
        try Passwords.check(request.password)
        context.task { node, time in
            try node.attempts.begin(.resetLink, from: desk.address, now: node.environment.now())
            let now = node.environment.wallClock()
            let found = try await node.gate.reading(.prompt) { reader in
                try ResetLinks.find(request.token, now: now, in: reader)
            }
            guard found != nil else { throw ResetLinks.refusal }
            let hashed = try await desk.hash(request.password)
            let name = try await desk.write(UseResetLink(request.token, hashed), time)
            node.attempts.succeed(.resetLink, from: desk.address)
            return ResetPasswordResponse(Bytes(name.utf8)).encoded()
        }
    }
}
