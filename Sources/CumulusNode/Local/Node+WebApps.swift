// What doors in the same process ask a node about the web apps of its cluster.
//
// The gateway asks with each request of a browser, so a look-up tries what is in memory first.

package import CumulusModel
import CumulusOperations
import CumulusStorage

extension Node {
    /// The registered web app of an API token; nil if no app has it.
    ///
    /// - Parameter digest: The SHA-256 of the token.
    package func webApp(token digest: Bytes) async throws(ServiceError) -> WebApp? {
        try await look { [self] reach in
            try RegisteredWebApps.find(token: digest, in: gate.latest(reach: reach))
        }
    }

    /// The registered web app with a name; nil if no app has it.
    package func webApp(
        _ name: String,
        in scope: ScopeID
    ) async throws(ServiceError) -> WebApp? {
        try await look { [self] reach in
            try RegisteredWebApps.find(name, of: scope, in: gate.latest(reach: reach))
        }
    }

    /// The logo of a registered web app: PNG or JPEG; empty if it has none.
    package func logo(of app: WebApp) async throws(ServiceError) -> Bytes {
        try await look { [self] reach in
            try RegisteredWebApps.logo(of: app, in: gate.latest(reach: reach))
        }
    }
}
