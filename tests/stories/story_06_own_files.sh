pxsgmcmc config check own.toml
pxsgmcmc run own.toml --out runs/mine
pxsgmcmc show runs/mine
pxsgmcmc evaluate runs/mine
pxsgmcmc diagnose runs/mine
pxsgmcmc predict runs/mine X_test.npy -o probabilities.npy
pxsgmcmc report runs/mine
