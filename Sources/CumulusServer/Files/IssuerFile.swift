// The operator's file of identity providers (`--issuers`) and the key sets that it names.
//
// Read at the start and again when they change, at the next sign-in: the operator replaces a key
// set, and its new keys count, and removed ones don't. A file that can't be used leaves the old
// state, and the log says why.

import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusTransport
import JWTKitTokens
import Logging

struct IssuerFile: Sendable {
    private struct Entry: Sendable {
        let issuer: TrustedIssuer
        let keys: WatchedFiles<TokenKeys>
        /// How browsers sign in there; nil: they don't.
        let web: WatchedFiles<WebProvider>?
    }

    /// More than any operator needs.
    private static let mostBytes = 1 << 20

    private let file: WatchedFiles<[String: Entry]>

    /// nil without a file.
    init?(_ path: String, _ logger: Logger) throws {
        guard !path.isEmpty else { return nil }
        do {
            file = try WatchedFiles(
                [path],
                onRenewal: { Wiring.tell(logger, of: "file of issuers", $0) },
                make: { try IssuerFile.read(path, logger) }
            )
        } catch {
            throw StartProblem(\.users.issuers, "\(error)")
        }
    }

    /// The issuers for the node.
    var issuers: TokenIssuers {
        TokenIssuers(verifier: JWTKitVerifier()) { url in
            file.current[url].map { ($0.issuer, $0.keys.current) }
        }
    }

    /// The providers that the sign-in page offers now, by name.
    var providers: [WebProvider] {
        file.current.values.compactMap { $0.web?.current }.sorted {
            ($0.choice.name, $0.choice.issuer) < ($1.choice.name, $1.choice.issuer)
        }
    }

    private static func read(_ path: String, _ logger: Logger) throws -> [String: Entry] {
        let issuers: [TrustedIssuer]
        let text = try OperatorFile.bytes(of: path, limit: mostBytes)
        do throws(TrustedIssuer.Problem) {
            issuers = try TrustedIssuer.all(text)
        } catch {
            throw OperatorFile.Unusable("\(path): \(error)")
        }
        return try issuers.reduce(into: [:]) { entries, issuer in
            let keyFile = OperatorFile.place(of: issuer.keyFile, beside: path)
            let keys = try WatchedFiles(
                [keyFile],
                onRenewal: { Wiring.tell(logger, of: "key set of \(issuer.url)", $0) },
                make: {
                    let text = try OperatorFile.bytes(of: keyFile, limit: TokenKeys.mostBytes)
                    do throws(TokenKeys.Problem) {
                        return try TokenKeys(text)
                    } catch {
                        throw OperatorFile.Unusable("\(keyFile): \(error)")
                    }
                }
            )
            let web = try issuer.web.map { try provider(issuer.url, $0, path, logger) }
            entries[issuer.url] = Entry(issuer: issuer, keys: keys, web: web)
        }
    }

    /// Its secret is read again when that file changes.
    private static func provider(
        _ issuer: String,
        _ web: IssuerWebSignIn,
        _ path: String,
        _ logger: Logger
    ) throws -> WatchedFiles<WebProvider> {
        guard let authorization = WebAddress(web.authorization), authorization.isSecret,
            let token = WebAddress(web.token), token.isSecret
        else {
            throw OperatorFile.Unusable(
                "\(path): issuer '\(issuer)': 'authorization' and 'token' of 'web' are URLs with "
                    + "https; http is for this machine only"
            )
        }
        let secretFile =
            web.secretFile.isEmpty ? nil : OperatorFile.place(of: web.secretFile, beside: path)
        return try WatchedFiles(
            secretFile.map { [$0] } ?? [],
            onRenewal: { Wiring.tell(logger, of: "secret for \(issuer)", $0) },
            make: {
                WebProvider(
                    WebProvider.Choice(issuer: issuer, name: web.name),
                    clientID: web.clientID,
                    clientSecret: try secretFile.map(OperatorFile.line),
                    authorization: authorization,
                    token: token,
                    claims: web.scopes
                )
            }
        )
    }
}
