// The operator's file of identity providers (`--issuers`) and the key sets that it names.
//
// Read at the start and again when they change, at the next sign-in: the operator replaces a key
// set, and its new keys count, and removed ones don't. A file that can't be used leaves the old
// state, and the log says why.

import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusSystem
import CumulusTransport
import JWTKitTokens
import Logging

enum IssuerFile {
    private struct Entry: Sendable {
        let issuer: TrustedIssuer
        let keys: WatchedFiles<TokenKeys>
    }

    /// More than any operator needs.
    private static let mostBytes = 1 << 20

    /// What the node gets; nil without a file.
    static func issuers(_ path: String, _ logger: Logger) throws -> TokenIssuers? {
        guard !path.isEmpty else { return nil }
        do {
            let file = try WatchedFiles(
                [path],
                onRenewal: { Wiring.tell(logger, of: "file of issuers", $0) },
                make: { try read(path, logger) }
            )
            return TokenIssuers(verifier: JWTKitVerifier()) { url in
                file.current[url].map { ($0.issuer, $0.keys.current) }
            }
        } catch {
            throw Configuration.Problem(message: "issuers: \(error)")
        }
    }

    private static func read(_ path: String, _ logger: Logger) throws -> [String: Entry] {
        let issuers: [TrustedIssuer]
        let text = try bytes(of: path, limit: mostBytes)
        do throws(TrustedIssuer.Problem) {
            issuers = try TrustedIssuer.all(text)
        } catch {
            throw Unusable("\(path): \(error)")
        }
        return try issuers.reduce(into: [:]) { entries, issuer in
            let keyFile = place(of: issuer.keyFile, beside: path)
            let keys = try WatchedFiles(
                [keyFile],
                onRenewal: { Wiring.tell(logger, of: "key set of \(issuer.url)", $0) },
                make: {
                    let text = try bytes(of: keyFile, limit: TokenKeys.mostBytes)
                    do throws(TokenKeys.Problem) {
                        return try TokenKeys(text)
                    } catch {
                        throw Unusable("\(keyFile): \(error)")
                    }
                }
            )
            entries[issuer.url] = Entry(issuer: issuer, keys: keys)
        }
    }

    /// A path that is not absolute begins in the folder of the file that names it.
    private static func place(of path: String, beside file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }

    static func bytes(of path: String, limit: Int) throws(Unusable) -> Bytes {
        guard let size = Files.size(of: path), size <= UInt64(limit),
            let data = FileManager.default.contents(atPath: path), data.count <= limit
        else {
            throw Unusable("\(path) can't be read, or is larger than \(limit >> 10) KiB")
        }
        return Bytes(data)
    }

    struct Unusable: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }
}
