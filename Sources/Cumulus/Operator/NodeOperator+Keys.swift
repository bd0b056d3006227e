// The service keys and the web apps of a container's environment.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    package struct RegisteredKey: Hashable, Sendable {
        /// The id, as in ``ServiceKey/id``.
        package var id: String
        /// A text for people.
        package var label: String
        package var created: Timestamp
        /// nil: never.
        package var expires: Timestamp?
        /// The user record name, by which roles are given.
        package var recordName: String
    }

    /// Registers a public key, or gives one that is registered another label and time.
    ///
    /// - Parameter publicKey: In X9.63 form, as `ServiceKey.publicKey(ofPEM:)` gives it.
    package func addKey(
        _ publicKey: Bytes,
        label: String,
        expires: Timestamp?,
        in container: String,
        _ environment: Environment
    ) async throws -> (key: RegisteredKey, existed: Bool) {
        let request = AddKeyRequest(
            publicKey: publicKey,
            label: label,
            expires: expires?.millisecondsSince1970 ?? 0
        )
        let cluster = try await core.hello().clusterID
        return try await call(
            .keysAdd,
            message: request.encoded(),
            container: container,
            environment
        ) {
            let response = try AddKeyResponse(wire: $0)
            return (RegisteredKey(response.key, of: cluster), response.existed)
        }
    }

    /// The keys that were not revoked, expired ones too, oldest first.
    package func keys(
        in container: String,
        _ environment: Environment
    ) async throws -> [RegisteredKey] {
        let cluster = try await core.hello().clusterID
        return try await list(.keysList, container: container, environment) {
            try ListKeysResponse(wire: $0).elements.map { RegisteredKey($0, of: cluster) }
        }
    }

    /// Revokes a key for good; returns false if there is none with that id in this cluster, or if
    /// it was revoked before.
    package func revokeKey(_ id: String) async throws -> Bool {
        let (cluster, key) = try ServiceKey.split(id)
        guard try await core.hello().clusterID == cluster else { return false }
        return try await call(.keysRevoke, message: RevokeKeyRequest(key).encoded()) {
            try RevokeKeyResponse(wire: $0).flag
        }
    }
}

// MARK: - Web apps

extension NodeOperator {
    /// The web apps that are registered in the cluster, by their names.
    ///
    /// - Returns: Each with the bytes of its logo, 0 without one.
    package func webApps(
        in scope: ScopeID
    ) async throws -> [(app: WebApp, logoBytes: Int)] {
        try await list(.webAppsList, container: scope.container, scope.environment) {
            try ListWebAppsResponse(wire: $0).elements.map { $0.values(in: scope) }
        }
    }

    /// Registers a web app, or gives one that is registered other values, all of them.
    ///
    /// - Parameters:
    ///   - app: Without a token, the node makes one, or the app keeps its own.
    ///   - isNew: An app with that name is refused; otherwise there must be one.
    ///   - logo: A PNG or JPEG; nil takes the logo away; empty keeps it.
    package func setWebApp(
        _ app: WebApp,
        isNew: Bool,
        logo: Bytes? = []
    ) async throws -> (app: WebApp, logoBytes: Int) {
        let request = SetWebAppRequest(
            WireWebApp(app),
            isNew: isNew,
            logo: logo ?? [],
            removesLogo: logo == nil
        )
        return try await call(
            .webAppsSet,
            message: request.encoded(),
            container: app.scope.container,
            app.scope.environment,
            // Sent again, it would be told that the app exists.
            repeats: !isNew
        ) { try SetWebAppResponse(wire: $0).app.values(in: app.scope) }
    }

    /// Removes a web app; returns false if no app has that name.
    package func removeWebApp(_ name: String, in scope: ScopeID) async throws -> Bool {
        try await call(
            .webAppsRemove,
            name: Bytes(name.utf8),
            container: scope.container,
            scope.environment
        ) { try RemoveWebAppResponse(wire: $0).flag }
    }
}

extension WireWebApp {
    fileprivate func values(in scope: ScopeID) -> (app: WebApp, logoBytes: Int) {
        let app = WebApp(
            name: String(decoding: name, as: UTF8.self),
            scope: scope,
            token: token,
            origins: origins,
            callback: callback,
            title: title,
            created: created
        )
        return (app, Int(logoBytes))
    }
}

extension NodeOperator.RegisteredKey {
    fileprivate init(_ wire: WireServiceKey, of cluster: Bytes) {
        id = ServiceKey.text(cluster: cluster, key: wire.id)
        label = wire.label
        created = Timestamp(millisecondsSince1970: wire.created)
        expires = Timestamp(wire: wire.expires)
        recordName = wire.user
    }
}
