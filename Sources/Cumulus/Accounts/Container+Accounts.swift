// Signing in with a password or an ID token, and the sessions of the signed-in user.
//
// A container keeps the access token that it began with: what opens a session returns the token for
// another container. How long a session is good, and where, is said by proto/accounts.md.
//
// Folder: signing in, sessions, keys of servers, and how users find each other. Read
// `Container+Accounts`, then `AccessSession`, `ServiceKey` and `Container+People`.

import Crypto
import CumulusModel
import CumulusWire

extension Container {
    /// Opens a session for a user who has a password.
    ///
    /// The session's token goes into the configuration of another container:
    ///
    /// ```swift
    /// var configuration = Container.Configuration(endpoints: ["127.0.0.1:7420"])
    /// let visitor = Container(identifier: "iCloud.dev.cumulus", configuration: configuration)
    /// let session = try await visitor.signIn(name: "ada", password: password)
    /// await visitor.close()
    /// configuration.accessToken = session.token
    /// let container = Container(identifier: "iCloud.dev.cumulus", configuration: configuration)
    /// ```
    ///
    /// Keep the token where only the user can read it, and the password not at all. Other nodes
    /// take the token as soon as they have heard of the session.
    ///
    /// - Parameters:
    ///   - name: The user's, as it was made; spaces around it don't count.
    ///   - password: 8 to 256 bytes of UTF-8 in Unicode's form NFC, into which the node brings it.
    ///   - label: A text for people, in the list of sessions.
    /// - Throws: `notAuthenticated` if the name or the password is wrong, the user is disabled or
    ///   has no password, or this container's own token is not good any more: sign in with a
    ///   container without one. `requestRateLimited` after so many attempts that the next one is
    ///   not due in the time of a call.
    public func signIn(
        name: String,
        password: String,
        label: String = ""
    ) async throws -> AccessSession {
        let request = SignInRequest(name: name, password: password, label: label)
        // A retry after a lost answer opens another session; the lost session's token is unknown to
        // all clients.
        return try AccessSession(await core.read(.accountsSignIn, request.encoded()))
    }

    /// Opens a session for a user by an identity provider's token.
    ///
    /// The app gets the ID token by OpenID Connect from a provider that the operator of the cluster
    /// trusts. The first time the node makes a user for it, if the operator allows that. Go on as
    /// after ``signIn(name:password:label:)``.
    ///
    /// - Parameters:
    ///   - idToken: The token as the provider gave it to the app, at most 16 KiB.
    ///   - nonce: The nonce that the app gave the provider; empty means that it is not compared.
    ///   - label: A text for people, in the list of sessions.
    /// - Throws: `notAuthenticated` if the token does not count, has expired, or its user is
    ///   disabled; `permissionFailure` if the operator trusts no provider; `requestRateLimited`
    ///   after so many attempts that the next one is not due in the time of a call.
    public func signIn(
        idToken: String,
        nonce: String = "",
        label: String = ""
    ) async throws -> AccessSession {
        let request = SignInRequest(idToken: Bytes(idToken.utf8), nonce: nonce, label: label)
        return try AccessSession(await core.read(.accountsSignIn, request.encoded()))
    }

    /// Makes a user with a password and opens a session for it, as ``signIn(name:password:label:)``
    /// does.
    ///
    /// - Throws: `invalidArguments` if the name is taken or the password too short;
    ///   `permissionFailure` on a node where users don't register; `serverResponseLost` if it is
    ///   not known whether the user was made: try to sign in then.
    public func register(
        name: String,
        password: String,
        label: String = ""
    ) async throws -> AccessSession {
        let request = SignInRequest(name: name, password: password, label: label)
        return try await openOnce(
            .accountsRegister,
            request.encoded(),
            ifLost: "the connection was lost after the name was sent; sign in to see whether it "
                + "is yours"
        )
    }

    /// Sets the signed-in user's password, ends all its sessions, and opens one for the caller.
    ///
    /// This container is signed out like all others: go on with another one and the new token.
    ///
    /// - Throws: `notAuthenticated` if the old password is wrong, and without an access token;
    ///   `invalidArguments` for a password that can't be one; `serverResponseLost` if it is not
    ///   known whether the password was changed: try to sign in with the new one then.
    public func changePassword(
        from oldPassword: String,
        to newPassword: String,
        label: String = ""
    ) async throws -> AccessSession {
        let request = ChangePasswordRequest(
            oldPassword: Bytes(oldPassword.utf8),
            newPassword: Bytes(newPassword.utf8),
            label: label
        )
        let session = try await openOnce(
            .accountsChangePassword,
            request.encoded(),
            ifLost: "the connection was lost after the passwords were sent; sign in with the new "
                + "one to see whether it is set"
        )
        core.account.note(.noAccount)
        return session
    }

    /// The signed-in user's sessions, oldest first, on all devices.
    ///
    /// Tokens that operators made with earlier releases are not listed.
    ///
    /// - Throws: `notAuthenticated` without an access token.
    public func sessions() async throws -> [ListedSession] {
        let answer = try await core.read(
            .accountsSessions,
            SessionsRequest([]).encoded()
        )
        return try ListedSession.list(answer)
    }

    /// Ends one of the signed-in user's sessions; returns false if there is none with that id.
    ///
    /// Its token lets nobody in any more, on each node as soon as that has heard of it: calls fail
    /// then, and streams end, with `notAuthenticated`.
    ///
    /// - Throws: `invalidArguments` if the id can't be one; `notAuthenticated` without an access
    ///   token.
    @discardableResult
    public func revoke(_ id: ListedSession.ID) async throws -> Bool {
        try await revoke(RevokeSessionsRequest(id: ListedSession.digest(id)))
    }

    /// Ends all of the signed-in user's sessions and access tokens.
    ///
    /// This container's token ends too, and so do sessions that other nodes open at the same time.
    ///
    /// - Throws: `notAuthenticated` without an access token.
    public func revokeAllSessions() async throws {
        _ = try await revoke(RevokeSessionsRequest(id: []))
        core.account.note(.noAccount)
    }

    /// Ends the session of this container's access token; nothing is done without a token, or if
    /// the token is not good any more.
    ///
    /// Later calls fail with `notAuthenticated`.
    public func signOut() async throws {
        let token = core.settings.hello.token
        guard !token.isEmpty else { return }
        do {
            _ = try await revoke(RevokeSessionsRequest(id: Bytes(SHA256.hash(data: token))))
        } catch let error as ServiceError where error.code == .notAuthenticated {
            // Another client ended it, or an earlier attempt whose answer was lost.
        }
        core.account.note(.noAccount)
    }

    private func revoke(_ request: RevokeSessionsRequest) async throws -> Bool {
        let answer = try await core.read(.accountsRevoke, request.encoded())
        return try decoding { try RevokeSessionsResponse(wire: answer.first ?? []).flag }
    }

    /// Makes a call that opens a session and whose repetition would be refused.
    private func openOnce(
        _ method: Method,
        _ message: Bytes,
        ifLost advice: String
    ) async throws -> AccessSession {
        do {
            return try AccessSession(await core.once(message, header: CallHeader(method)))
        } catch let error as ServiceError where error.code == .serverResponseLost {
            throw ServiceError(.serverResponseLost, advice)
        }
    }
}

extension SignInRequest {
    fileprivate init(name: String, password: String, label: String) {
        self.init(name: Bytes(name.utf8), password: Bytes(password.utf8), label: label)
    }
}
