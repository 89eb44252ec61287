// `make clients` copies this folder, and has OpenAPI Generator put the client into client/ beside it.
module example.com/customer

go 1.23

require (
	github.com/GIT_USER_ID/GIT_REPO_ID v0.0.0
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
)

replace github.com/GIT_USER_ID/GIT_REPO_ID => ./client
