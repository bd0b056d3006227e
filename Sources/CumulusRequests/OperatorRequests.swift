// Requests on accounts, and what operators ask for.
//
// `accounts.proto`, `operator.proto`, `schema.proto`, `roles.proto` and `indexes.proto`.

import CCumulusWire
import CumulusAssets
package import CumulusModel
package import CumulusWire

// MARK: - Accounts

extension SignInRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__sign_in_request__unpack)
        self.init()
        name = message.raw.name.swiftBytes
        password = message.raw.password.swiftBytes
        label = message.raw.label.swiftText
        idToken = message.raw.id_token.swiftBytes
        nonce = message.raw.nonce.swiftText
    }
}

extension ChangePasswordRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__change_password_request__unpack)
        self.init()
        oldPassword = message.raw.old_password.swiftBytes
        newPassword = message.raw.new_password.swiftBytes
        label = message.raw.label.swiftText
    }
}

extension RevokeSessionsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__revoke_sessions_request__unpack)
        self.init()
        id = message.raw.id.swiftBytes
        user = message.raw.user.swiftBytes
    }
}

extension SetUserStateRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_user_state_request__unpack)
        self.init()
        user = message.raw.user.swiftBytes
        isDisabled = message.raw.is_disabled != 0
    }
}

extension DeletionRequest {
    /// Reads it as a `DeleteUserRequest`, whose form all of them have.
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__delete_user_request__unpack)
        self.init(name: message.raw.user.swiftBytes, onlyShows: message.raw.only_shows != 0)
    }
}

extension SetPasswordRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_password_request__unpack)
        self.init()
        user = message.raw.user.swiftBytes
        password = message.raw.password.swiftBytes
    }
}

extension ResetPasswordRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__reset_password_request__unpack)
        self.init()
        token = message.raw.token.swiftBytes
        password = message.raw.password.swiftBytes
    }
}

extension AddKeyRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__add_key_request__unpack)
        self.init()
        publicKey = message.raw.public_key.swiftBytes
        label = message.raw.label.swiftText
        expires = message.raw.expires
    }
}

extension SetWebAppRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_web_app_request__unpack)
        guard let app = message.raw.app else {
            throw MalformedMessage(message: "the request names no web app")
        }
        self.init(
            WireWebApp(wire: app.pointee),
            isNew: message.raw.is_new != 0,
            logo: message.raw.logo.swiftBytes,
            removesLogo: message.raw.removes_logo != 0
        )
    }
}

extension WireWebApp {
    fileprivate init(wire raw: Cumulus__V1__WebApp) {
        self.init()
        name = raw.name.swiftBytes
        token = raw.token.swiftText
        origins = elements(raw.n_origins, raw.origins).map(\.swiftText)
        callback = raw.callback.swiftText
        title = raw.title.swiftText
        created = raw.created
        logoBytes = raw.logo_bytes
    }
}

// MARK: - Schema

extension ImportSchemaRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__import_schema_request__unpack)
        self.init()
        ckdb = message.raw.ckdb.swiftBytes
        onlyValidates = message.raw.only_validates != 0
        drops = message.raw.drops != 0
    }
}

extension SetMergePolicyRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_merge_policy_request__unpack)
        guard let policy = message.raw.policy else {
            throw MalformedMessage(message: "the request names no policy")
        }
        self.init(WireMergePolicy(wire: policy.pointee))
    }
}

extension WireMergePolicy {
    fileprivate init(wire raw: Cumulus__V1__MergePolicy) {
        self.init()
        recordType = raw.record_type.swiftBytes
        unit = UInt32(raw.unit.rawValue)
        groups = elements(raw.n_groups, raw.groups).map { group in
            elements(group.n_fields, group.fields).map(\.swiftBytes)
        }
    }
}

extension SetRoleRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_role_request__unpack)
        self.init()
        user = message.raw.user.swiftBytes
        role = message.raw.role.swiftBytes
        isGiven = message.raw.is_given != 0
    }
}

extension ListRolesRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__list_roles_request__unpack)
        self.init()
        user = message.raw.user.swiftBytes
        role = message.raw.role.swiftBytes
    }
}

extension IndexesRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__indexes_request__unpack)
        self.init()
        recordType = message.raw.record_type.swiftBytes
        field = message.raw.field.swiftBytes
    }
}

// MARK: - Upkeep

extension VerifyRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__verify_request__unpack)
        self.init()
        nodeID = message.raw.node_id.swiftBytes
        repairs = message.raw.repairs != 0
    }
}

extension RescueRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__rescue_request__unpack)
        let raw = message.raw
        self.init()
        commits = elements(raw.n_commits, raw.commits).map(\.swiftBytes)
        database = UInt32(raw.database.rawValue)
        owner = raw.owner.swiftBytes
        lists = elements(raw.n_lists, raw.lists).map(\.swiftBytes)
        chunks = elements(raw.n_chunks, raw.chunks).map { chunk in
            Chunk(
                digest: chunk.digest.swiftBytes,
                size: Int(chunk.size),
                isCompressed: chunk.is_compressed != 0,
                content: chunk.content.swiftBytes[...]
            )
        }
    }
}
