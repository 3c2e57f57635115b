/** Pages of the repository outside of `docs` that the site has too, by their names under `project/`. */
export const PROJECT_PAGES: Readonly<Record<string, string>> = {
  architecture: 'ARCHITECTURE.md',
  contributing: 'CONTRIBUTING.md',
  changelog: 'CHANGELOG.md',
  client: 'packages/client/README.md',
  watching: 'deploy/README.md',
  security: 'SECURITY.md',
};
